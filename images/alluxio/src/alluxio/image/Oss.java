package alluxio.image;

import alluxio.AlluxioURI;
import alluxio.conf.PropertyKey;
import alluxio.grpc.Scope;
import alluxio.underfs.UnderFileSystem;
import alluxio.underfs.UnderFileSystemConfiguration;
import alluxio.underfs.UnderFileSystemFactory;
import alluxio.underfs.oss.OSSUnderFileSystem;
import alluxio.util.UnderFileSystemUtils;

import com.aliyun.oss.ClientBuilderConfiguration;
import com.aliyun.oss.OSS;
import com.aliyun.oss.OSSClientBuilder;
import com.aliyun.oss.common.auth.Credentials;
import com.aliyun.oss.common.auth.DefaultCredentialProvider;
import com.aliyun.oss.common.auth.DefaultCredentials;
import com.aliyun.oss.common.comm.SignVersion;

/**
 * Alluxio's under store for {@code oss://}, with a client that signs by version 4 for {@code fs.oss.region}, and sends
 * {@code fs.oss.securityToken} where temporary keys have one. Alluxio's own client knows version 1 alone, which OSS does
 * not take for buckets and accounts made since 2025, and no token. A mount without a region gets Alluxio's own, as does any
 * mount if this jar is not the last of the class path.
 */
public final class Oss implements UnderFileSystemFactory {
  private static final PropertyKey REGION = PropertyKey.Builder.stringBuilder("fs.oss.region")
      .setDescription("Region that requests are signed for.")
      .setScope(Scope.SERVER)
      .build();
  private static final PropertyKey TOKEN = PropertyKey.Builder.stringBuilder("fs.oss.securityToken")
      .setDescription("Of temporary keys, the token that STS gave with them.")
      .setDisplayType(PropertyKey.DisplayType.CREDENTIALS)
      .setScope(Scope.SERVER)
      .build();

  @Override
  public UnderFileSystem create(String path, UnderFileSystemConfiguration conf) {
    AlluxioURI uri = new AlluxioURI(path);
    return new Store(uri, client(conf), UnderFileSystemUtils.getBucketName(uri), conf);
  }

  @Override
  public boolean supportsPath(String path) {
    return false;
  }

  @Override
  public boolean supportsPath(String path, UnderFileSystemConfiguration conf) {
    return path.startsWith("oss://") && conf.isSet(REGION);
  }

  private static OSS client(UnderFileSystemConfiguration conf) {
    String token = conf.isSet(TOKEN) ? conf.getString(TOKEN) : null;
    Credentials keys = new DefaultCredentials(
        conf.getString(PropertyKey.OSS_ACCESS_KEY), conf.getString(PropertyKey.OSS_SECRET_KEY), token);
    ClientBuilderConfiguration how = OSSUnderFileSystem.initializeOSSClientConfig(conf);
    how.setSignatureVersion(SignVersion.V4);
    return OSSClientBuilder.create()
        .endpoint(conf.getString(PropertyKey.OSS_ENDPOINT_KEY))
        .region(conf.getString(REGION))
        .credentialsProvider(new DefaultCredentialProvider(keys))
        .clientConfiguration(how)
        .build();
  }

  /** Alluxio's own, whose constructor takes a client from its heirs alone. */
  private static final class Store extends OSSUnderFileSystem {
    Store(AlluxioURI uri, OSS client, String bucket, UnderFileSystemConfiguration conf) {
      super(uri, client, bucket, conf);
    }
  }
}
