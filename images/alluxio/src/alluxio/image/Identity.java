package alluxio.image;

import alluxio.ClientContext;
import alluxio.client.file.FileSystemMasterClient;
import alluxio.client.meta.RetryHandlingMetaMasterClient;
import alluxio.conf.AlluxioConfiguration;
import alluxio.conf.Configuration;
import alluxio.conf.InstancedConfiguration;
import alluxio.conf.PropertyKey;
import alluxio.grpc.MasterInfoField;
import alluxio.grpc.Scope;
import alluxio.master.MasterClientContext;
import alluxio.master.MasterInquireClient;
import alluxio.util.FormatUtils;
import alluxio.wire.MountPointInfo;

import java.io.IOException;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.time.Duration;
import java.time.Instant;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * Which cluster this process belongs to, as the live master says it: the id that a master writes into its journal when
 * the journal is new. Block and file ids start again with every journal, so bytes cached under one are wrong under another.
 */
final class Identity implements AutoCloseable {
  private static final Duration PATIENCE = Duration.ofMinutes(2);
  private static final Duration PAUSE = Duration.ofMillis(250);
  private static final Duration WATCH = Duration.ofSeconds(5);
  /** What stands in a master's answer before its journal has an id. */
  private static final String NONE = "INVALID_CLUSTER_ID";
  /** How the page stores of a client cache are laid out: a folder per type, in it one per page size */
  private static final Map<String, Pattern> PAGE_STORE = Map.of("LOCAL", Pattern.compile("\\d+"),
      "ROCKS", Pattern.compile("\\d+"));

  private final MasterClientContext mContext;
  private final RetryHandlingMetaMasterClient mClient;

  private Identity() {
    InstancedConfiguration conf = Configuration.copyGlobal();
    conf.set(PropertyKey.USER_RPC_RETRY_MAX_DURATION, (Object) "1s");
    conf.set(PropertyKey.USER_RPC_RETRY_MAX_SLEEP_MS, (Object) "250ms");
    mContext = MasterClientContext.newBuilder(ClientContext.create(conf)).build();
    mClient = new RetryHandlingMetaMasterClient(mContext);
  }

  /** Discards what the worker's tiers hold of another cluster, and beyond what they may hold, and keeps watching that the cluster stays the same. */
  static void claimWorkerStorage() throws IOException, Start.Refusal, InterruptedException {
    Identity identity = new Identity();
    String cluster = identity.await();
    // As the worker itself does when it starts: the master may name the tiers.
    Configuration.loadClusterDefaults(MasterInquireClient.Factory
        .create(Configuration.global(), identity.mContext.getUserState()).getPrimaryRpcAddress(), Scope.WORKER);
    AlluxioConfiguration conf = Configuration.global();
    String data = Paths.get("/", conf.getString(PropertyKey.WORKER_DATA_FOLDER)).getName(0).toString();
    Map<String, Pattern> blocks = Map.of(data, Pattern.compile("\\d+|\\.tmp_blocks"));
    for (int level = 0; level < conf.getInt(PropertyKey.WORKER_TIERED_STORE_LEVELS); level++) {
      List<String> folders = conf.getList(PropertyKey.Template.WORKER_TIERED_STORE_LEVEL_DIRS_PATH.format(level));
      List<String> quotas = conf.getList(PropertyKey.Template.WORKER_TIERED_STORE_LEVEL_DIRS_QUOTA.format(level));
      claim(folders, blocks, "cluster " + cluster);
      for (int number = 0; number < folders.size(); number++) {
        String quota = quotas.get(Math.min(number, quotas.size() - 1));
        new CacheFolder(Path.of(folders.get(number)), blocks).fit(data, FormatUtils.parseSpaceSize(quota));
      }
    }
    if (conf.get(PropertyKey.WORKER_BLOCK_STORE_TYPE).toString().equals("PAGE")) {
      claim(conf.getList(PropertyKey.WORKER_PAGE_STORE_DIRS), PAGE_STORE, "cluster " + cluster);
    }
    identity.watch(cluster);
  }

  /**
   * Discards what the client cache holds of another cluster or dataset, and keeps watching the cluster.
   *
   * @param arguments those of AlluxioFuse: its options may name the cache, and name the Alluxio path
   */
  static void claimClientCache(String[] arguments) throws IOException, Start.Refusal, InterruptedException {
    Identity identity = new Identity();
    String cluster = identity.await();
    FuseArguments fuse = FuseArguments.parse(arguments, identity.mContext.getClusterConf());
    if (!fuse.cacheFolders.isEmpty()) {
      claim(fuse.cacheFolders, PAGE_STORE, "cluster " + cluster + "\npath " + fuse.alluxioPath
          + "\nsource " + identity.source(fuse.alluxioPath));
    }
    identity.watch(cluster);
  }

  private static void claim(List<String> folders, Map<String, Pattern> layout, String identity)
      throws IOException, Start.Refusal {
    for (String folder : folders) {
      new CacheFolder(Path.of(folder), layout).claim(identity + "\n");
    }
  }

  /** The cluster's id, waiting for a master that is still starting. */
  private String await() throws IOException, InterruptedException {
    Instant end = Instant.now().plus(PATIENCE);
    for (int attempt = 0;; attempt++) {
      try {
        String id = ask();
        if (!id.isEmpty() && !id.equals(NONE)) {
          return id;
        }
      } catch (IOException e) {
        if (Instant.now().isAfter(end)) {
          throw new IOException("No master answered within " + PATIENCE.toSeconds() + " s", e);
        }
        if (attempt == 0) {
          System.out.println("Waiting for the master to say which cluster this is: " + e.getMessage());
        }
      }
      Thread.sleep(PAUSE.toMillis());
    }
  }

  private synchronized String ask() throws IOException {
    return mClient.getMasterInfo(Collections.singleton(MasterInfoField.CLUSTER_ID)).getClusterId();
  }

  /** The under store behind an Alluxio path: that of the nearest mount point above it. */
  private String source(String alluxioPath) throws IOException {
    Path path = Path.of(alluxioPath);
    try (FileSystemMasterClient client = FileSystemMasterClient.Factory.create(mContext)) {
      Map<String, MountPointInfo> table = client.getMountTable(false);
      Optional<String> point = table.keySet().stream().filter(each -> path.startsWith(each))
          .max(Comparator.comparingInt(String::length));
      return point.map(each -> table.get(each).getUfsUri()).orElse("");
    }
  }

  /** Ends this process, without another byte served, when the master comes back with another journal. */
  private void watch(String cluster) {
    Thread thread = new Thread(() -> {
      while (true) {
        try {
          Thread.sleep(WATCH.toMillis());
          String now = ask();
          if (!now.isEmpty() && !now.equals(NONE) && !now.equals(cluster)) {
            System.err.println("The cluster is now " + now + " and was " + cluster + ": ending, to start again with empty caches");
            Runtime.getRuntime().halt(1);
          }
        } catch (IOException e) {
          // The master is away: what is cached is still right.
        } catch (InterruptedException e) {
          return;
        }
      }
    }, "cluster-identity");
    thread.setDaemon(true);
    thread.start();
  }

  @Override
  public void close() throws IOException {
    mClient.close();
  }
}
