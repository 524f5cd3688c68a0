package alluxio.image;

import alluxio.AlluxioURI;
import alluxio.client.block.BlockStoreClient;
import alluxio.client.block.policy.BlockLocationPolicy;
import alluxio.client.block.stream.BlockWorkerClient;
import alluxio.client.file.FileInStream;
import alluxio.client.file.FileSystem;
import alluxio.client.file.FileSystemContext;
import alluxio.client.file.URIStatus;
import alluxio.client.file.options.InStreamOptions;
import alluxio.conf.AlluxioConfiguration;
import alluxio.conf.Configuration;
import alluxio.conf.PropertyKey;
import alluxio.grpc.CacheRequest;
import alluxio.grpc.FreePOptions;
import alluxio.grpc.OpenFilePOptions;
import alluxio.grpc.ReadPType;
import alluxio.resource.CloseableResource;
import alluxio.util.FileSystemOptionsUtils;
import alluxio.wire.BlockInfo;
import alluxio.wire.FileBlockInfo;
import alluxio.wire.WorkerNetAddress;

import com.google.common.collect.ImmutableMap;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/**
 * What workers hold of files, one after the other, as a list on standard input says: {@code runClass
 * alluxio.image.Warm VERB THREADS BYTES_PER_SECOND}, where 0 is without a limit.
 * A small file counts as more than its bytes there, since it costs more.
 *
 * <p>A line in is {@code NUMBER TAB SIZE TAB ALGORITHM TAB PATH}: what digests are computed by, and the path in Alluxio
 * as URLs have it. A line out is {@code NUMBER TAB ok TAB BYTES TAB DIGEST} or {@code NUMBER TAB failed TAB WHY}. Verbs:
 * <ul>
 * <li>{@code load}: a worker reads each block that no worker has from the under store; BYTES says how much that was
 * <li>{@code compare}: reads a file from the workers alone; one that is not whole in them has failed
 * <li>{@code free}: workers give it up
 * </ul>
 */
public final class Warm {
  private static final int BUFFER = 1 << 20;
  private static final long LEAST = 256 << 10; // bytes that a file or block counts as; selection.py has the same
  private static final int LONGEST = 300; // of what is said of a failure

  private final FileSystemContext mContext;
  private final FileSystem mFiles;
  private final Pace mPace;

  private Warm(FileSystemContext context, FileSystem files, Pace pace) {
    mContext = context;
    mFiles = files;
    mPace = pace;
  }

  /** What is done with one file. */
  private interface Verb {
    /** Returns what a line out has after {@code ok}. */
    String of(AlluxioURI path, URIStatus status, String algorithm) throws Exception;
  }

  /** Reads the list to its end; the exit status is 0 whatever became of the files. */
  public static void main(String[] arguments) throws Exception {
    int threads = Integer.parseInt(arguments[1]);
    FileSystemContext context = FileSystemContext.create(Configuration.global());
    try (FileSystem files = FileSystem.Factory.create(context)) {
      Warm warm = new Warm(context, files, new Pace(Long.parseLong(arguments[2])));
      warm.all(warm.verb(arguments[0]), threads);
    }
    System.exit(0); // channels that idle would keep this process
  }

  private Verb verb(String name) {
    switch (name) {
      case "load":
        return (path, status, algorithm) -> load(path, status) + "\t";
      case "compare":
        return this::compare;
      case "free":
        return (path, status, algorithm) -> free(path, status) + "\t";
      default:
        throw new IllegalArgumentException("no verb " + name);
    }
  }

  private void all(Verb verb, int threads) throws Exception {
    PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    ExecutorService pool = Executors.newFixedThreadPool(threads);
    Semaphore room = new Semaphore(4 * threads); // a list of millions is not held in memory
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      String[] fields = line.split("\t", 4);
      room.acquire();
      pool.execute(() -> {
        try {
          out.println(fields[0] + "\t" + one(verb, Long.parseLong(fields[1]), fields[2], fields[3]));
        } finally {
          room.release();
        }
      });
    }
    pool.shutdown();
    pool.awaitTermination(Long.MAX_VALUE, TimeUnit.NANOSECONDS);
    out.flush();
  }

  private String one(Verb verb, long size, String algorithm, String quoted) {
    try {
      AlluxioURI path = new AlluxioURI(URLDecoder.decode(quoted.replace("+", "%2B"), StandardCharsets.UTF_8));
      URIStatus status = mFiles.getStatus(path);
      if (status.getLength() != size) {
        return "failed\tit has " + status.getLength() + " bytes, and the manifest says " + size;
      }
      return "ok\t" + verb.of(path, status, algorithm);
    } catch (Exception e) {
      return "failed\t" + why(e);
    }
  }

  /** What is said of a failure in one line: the failure, and what it came from in the end. */
  private static String why(Throwable failure) {
    Throwable first = failure;
    while (first.getCause() != null) {
      first = first.getCause();
    }
    String said = String.valueOf(failure.getMessage() == null ? failure : failure.getMessage());
    String from = first == failure || first.getMessage() == null ? "" : " (" + first.getMessage() + ")";
    String line = (said + from).replaceAll("\\s+", " ");
    return line.length() <= LONGEST ? line : line.substring(0, LONGEST) + " …";
  }

  /** Bytes that workers had to read. As the command {@code fs load} does it, but for what no worker has alone. */
  private long load(AlluxioURI path, URIStatus status) throws Exception {
    AlluxioConfiguration conf = mContext.getPathConf(path);
    // a FUSE process that shares this configuration may read past the workers
    OpenFilePOptions options =
        FileSystemOptionsUtils.openFileDefaults(conf).toBuilder().setReadType(ReadPType.CACHE).build();
    BlockLocationPolicy policy = BlockLocationPolicy.Factory.create(
        conf.getClass(PropertyKey.USER_UFS_BLOCK_READ_LOCATION_POLICY), conf);
    BlockStoreClient blocks = BlockStoreClient.create(mContext);
    long read = 0;
    for (FileBlockInfo one : status.getFileBlockInfos()) {
      BlockInfo block = one.getBlockInfo();
      if (!block.getLocations().isEmpty()) {
        continue;
      }
      mPace.take(Math.max(block.getLength(), LEAST));
      WorkerNetAddress worker =
          blocks.getDataSourceAndType(block, status, policy, ImmutableMap.of()).getFirst();
      String host = worker.getContainerHost().isEmpty() ? worker.getHost() : worker.getContainerHost();
      CacheRequest request = CacheRequest.newBuilder().setBlockId(block.getBlockId()).setLength(block.getLength())
          .setOpenUfsBlockOptions(
              new InStreamOptions(status, options, conf, mContext).getOpenUfsBlockOptions(block.getBlockId()))
          .setSourceHost(host).setSourcePort(worker.getDataPort()).build();
      try (CloseableResource<BlockWorkerClient> client = mContext.acquireBlockWorkerClient(worker)) {
        client.get().cache(request);
      }
      read += block.getLength();
    }
    if (read > 0 && held(mFiles.getStatus(path)) != status.getLength()) { // a worker that fails does not answer so
      throw new IOException("a worker has not got all of it from the under store; its log says why");
    }
    return read;
  }

  /** Bytes of a file that workers have, in whole blocks. */
  private static long held(URIStatus status) {
    long held = 0;
    for (FileBlockInfo one : status.getFileBlockInfos()) {
      held += one.getBlockInfo().getLocations().isEmpty() ? 0 : one.getBlockInfo().getLength();
    }
    return held;
  }

  /** Bytes and digest of what the workers hold, which no cache of a client is asked for. */
  private String compare(AlluxioURI path, URIStatus status, String algorithm) throws IOException,
      NoSuchAlgorithmException, alluxio.exception.AlluxioException, InterruptedException {
    long held = held(status);
    if (held != status.getLength()) {
      throw new IOException("workers hold " + held + " of " + status.getLength() + " bytes");
    }
    MessageDigest digest = MessageDigest.getInstance(algorithm);
    OpenFilePOptions options = OpenFilePOptions.newBuilder().setReadType(ReadPType.NO_CACHE).build();
    byte[] buffer = new byte[BUFFER];
    long size = 0;
    mPace.take(Math.max(0, LEAST - status.getLength()));
    try (FileInStream stream = mFiles.openFile(status, options)) {
      for (int length = stream.read(buffer); length > 0; length = stream.read(buffer)) {
        mPace.take(length);
        digest.update(buffer, 0, length);
        size += length;
      }
    }
    StringBuilder hex = new StringBuilder();
    for (byte value : digest.digest()) {
      hex.append(String.format("%02x", value));
    }
    return size + "\t" + hex;
  }

  private long free(AlluxioURI path, URIStatus status) throws Exception {
    mFiles.free(path, FreePOptions.newBuilder().setRecursive(false).build());
    return status.getLength();
  }

  /** Lets so many bytes pass in a second. */
  private static final class Pace {
    private final long mBytesPerSecond;
    private long mNext = System.nanoTime();

    private Pace(long bytesPerSecond) {
      mBytesPerSecond = bytesPerSecond;
    }

    private void take(long bytes) throws InterruptedException {
      if (mBytesPerSecond == 0) {
        return;
      }
      long wait;
      synchronized (this) {
        long now = System.nanoTime();
        mNext = Math.max(mNext, now);
        wait = mNext - now;
        mNext += (long) (bytes * 1e9 / mBytesPerSecond);
      }
      TimeUnit.NANOSECONDS.sleep(wait);
    }
  }
}
