package alluxio.image;

import alluxio.AlluxioURI;
import alluxio.conf.PropertyKey;
import alluxio.retry.RetryPolicy;
import alluxio.underfs.MultiRangeObjectInputStream;
import alluxio.underfs.UnderFileSystem;
import alluxio.underfs.UnderFileSystemConfiguration;
import alluxio.underfs.UnderFileSystemFactory;
import alluxio.underfs.options.OpenOptions;
import alluxio.underfs.s3a.AlluxioS3Exception;
import alluxio.underfs.s3a.S3AUnderFileSystem;
import alluxio.util.UnderFileSystemUtils;

import com.amazonaws.services.s3.AmazonS3;
import com.amazonaws.services.s3.model.AmazonS3Exception;
import com.amazonaws.services.s3.model.GetObjectRequest;
import com.amazonaws.services.s3.transfer.TransferManager;
import software.amazon.awssdk.services.s3.S3AsyncClient;

import java.io.InputStream;
import java.lang.reflect.Field;
import java.util.concurrent.ExecutorService;

/**
 * Alluxio's under store for {@code s3://}, which asks for as much of an object as is read: a block. Alluxio's own asks for the
 * object from a block's first byte to its end, and closes the connection after the block. The store sends what nobody reads,
 * and each block, and so each small file, takes a TCP and a TLS handshake of its own. A mount gets Alluxio's own if this jar is
 * not the last of the class path.
 */
public final class S3 implements UnderFileSystemFactory {
  private static final int NOTHING_THERE = 416; // the object ends before the range begins

  @Override
  public UnderFileSystem create(String path, UnderFileSystemConfiguration conf) {
    AlluxioURI uri = new AlluxioURI(path);
    try {
      return new Store(uri, S3AUnderFileSystem.createInstance(uri, conf), conf);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("not the Alluxio that this image is made for", e);
    }
  }

  @Override
  public boolean supportsPath(String path) {
    return path != null && (path.startsWith("s3://") || path.startsWith("s3a://"));
  }

  /** Alluxio's own, of whose parts the client alone is wanted here. */
  private static final class Store extends S3AUnderFileSystem {
    private final AmazonS3 mClient;
    private final String mBucket;
    private final long mRange;

    Store(AlluxioURI uri, S3AUnderFileSystem own, UnderFileSystemConfiguration conf) throws ReflectiveOperationException {
      super(uri, part(own, "mClient", AmazonS3.class), part(own, "mAsyncClient", S3AsyncClient.class),
          UnderFileSystemUtils.getBucketName(uri), part(own, "mExecutor", ExecutorService.class),
          part(own, "mManager", TransferManager.class), conf, part(own, "mStreamingUploadEnabled", Boolean.class));
      mClient = part(own, "mClient", AmazonS3.class);
      mBucket = UnderFileSystemUtils.getBucketName(uri);
      mRange = conf.getBytes(PropertyKey.UNDERFS_OBJECT_STORE_MULTI_RANGE_CHUNK_SIZE);
    }

    private static <T> T part(S3AUnderFileSystem own, String name, Class<T> type) throws ReflectiveOperationException {
      Field field = S3AUnderFileSystem.class.getDeclaredField(name);
      field.setAccessible(true);
      return type.cast(field.get(own));
    }

    @Override
    protected InputStream openObject(String key, OpenOptions options, RetryPolicy retries) {
      return new Ranges(mClient, mBucket, key, options.getOffset(), mRange);
    }
  }

  /** An object, read by a request for each range. A range that was read to its end leaves its connection to the next one. */
  private static final class Ranges extends MultiRangeObjectInputStream {
    private final AmazonS3 mClient;
    private final String mBucket;
    private final String mKey;

    Ranges(AmazonS3 client, String bucket, String key, long position, long range) {
      super(range);
      mClient = client;
      mBucket = bucket;
      mKey = key;
      mPos = position;
    }

    @Override
    protected InputStream createStream(long begin, long end) {
      try {
        return mClient.getObject(new GetObjectRequest(mBucket, mKey).withRange(begin, end - 1)).getObjectContent();
      } catch (AmazonS3Exception e) {
        if (e.getStatusCode() == NOTHING_THERE) {
          return InputStream.nullInputStream();
        }
        throw AlluxioS3Exception.from(String.format("Failed to open key: %s bucket: %s", mKey, mBucket), e);
      }
    }
  }
}
