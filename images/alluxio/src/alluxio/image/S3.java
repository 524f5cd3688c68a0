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
import com.amazonaws.services.s3.model.ObjectMetadata;
import com.amazonaws.services.s3.model.S3Object;
import com.amazonaws.services.s3.transfer.TransferManager;
import software.amazon.awssdk.services.s3.S3AsyncClient;

import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Field;
import java.util.Objects;
import java.util.concurrent.ExecutorService;

/**
 * Alluxio's under store for {@code s3://}, with a stream that asks for an object by ranges, as Alluxio's streams of other stores
 * do. Its own stream of S3 asks for the object from a block's first byte to the end, and closes the connection after the block.
 * The store sends what nobody reads, and each block, so each small file, takes a TCP and a TLS handshake of its own. A mount
 * gets Alluxio's own if this jar is not the last of the class path.
 */
public final class S3 implements UnderFileSystemFactory {
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

  /** An object, read by a request for each range. One that was read to its end leaves its connection to the next one. */
  private static final class Ranges extends MultiRangeObjectInputStream {
    private final AmazonS3 mClient;
    private final String mBucket;
    private final String mKey;
    /** What the store said of the object with the last range. */
    private ObjectMetadata mSeen;

    Ranges(AmazonS3 client, String bucket, String key, long position, long range) {
      super(range);
      mClient = client;
      mBucket = bucket;
      mKey = key;
      mPos = position;
    }

    @Override
    protected InputStream createStream(long begin, long end) throws IOException {
      if (mSeen != null && begin >= mSeen.getInstanceLength()) {
        return InputStream.nullInputStream();
      }
      S3Object range = ask(new GetObjectRequest(mBucket, mKey).withRange(begin, end - 1));
      ObjectMetadata now = range.getObjectMetadata();
      if (mSeen != null && !Objects.equals(mSeen.getETag(), now.getETag())) {
        range.getObjectContent().abort();
        throw new IOException(String.format("key: %s bucket: %s has changed while it was read", mKey, mBucket));
      }
      mSeen = now;
      return range.getObjectContent();
    }

    private S3Object ask(GetObjectRequest request) {
      try {
        return mClient.getObject(request);
      } catch (AmazonS3Exception e) {
        throw AlluxioS3Exception.from(String.format("Failed to open key: %s bucket: %s", mKey, mBucket), e);
      }
    }
  }
}
