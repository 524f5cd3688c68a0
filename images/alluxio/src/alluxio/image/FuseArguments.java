package alluxio.image;

import alluxio.conf.AlluxioConfiguration;
import alluxio.conf.PropertyKey;

import java.util.List;

/** What AlluxioFuse's command line says about its client cache, over what the configuration says. */
final class FuseArguments {
  final String alluxioPath;
  /** Empty when the client cache is off. */
  final List<String> cacheFolders;

  private FuseArguments(String alluxioPath, List<String> cacheFolders) {
    this.alluxioPath = alluxioPath;
    this.cacheFolders = cacheFolders;
  }

  static FuseArguments parse(String[] arguments, AlluxioConfiguration conf) {
    String path = conf.getString(PropertyKey.FUSE_MOUNT_ALLUXIO_PATH);
    boolean enabled = conf.getBoolean(PropertyKey.USER_CLIENT_CACHE_ENABLED);
    List<String> folders = conf.getList(PropertyKey.USER_CLIENT_CACHE_DIRS);
    for (int i = 0; i + 1 < arguments.length; i += 2) {
      if (arguments[i].equals("-a")) {
        path = arguments[i + 1];
      } else if (arguments[i].equals("-o")) {
        for (String option : arguments[i + 1].split(",")) {
          String value = option.substring(option.indexOf('=') + 1);
          if (option.startsWith("data_cache=")) {
            enabled = true;
            folders = List.of(value);
          } else if (option.startsWith(PropertyKey.USER_CLIENT_CACHE_DIRS.getName() + "=")) {
            folders = List.of(value);
          } else if (option.startsWith(PropertyKey.USER_CLIENT_CACHE_ENABLED.getName() + "=")) {
            enabled = Boolean.parseBoolean(value);
          }
        }
      }
    }
    return new FuseArguments(path, enabled ? folders : List.of());
  }
}
