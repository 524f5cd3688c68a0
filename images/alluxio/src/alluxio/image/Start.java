package alluxio.image;

import alluxio.conf.AlluxioConfiguration;
import alluxio.conf.Configuration;
import alluxio.conf.PropertyKey;
import alluxio.fuse.AlluxioFuse;
import alluxio.master.AlluxioMaster;
import alluxio.util.network.NetworkAddressUtils;
import alluxio.worker.AlluxioWorker;

import java.lang.reflect.Field;
import java.util.Arrays;

/**
 * Starts a service in this JVM after what must be true before it: {@code master format|keep} formats a journal that
 * was never used; {@code worker} and {@code fuse ARGUMENTS} discard cached bytes of another cluster, and {@code worker} what its
 * tiers may not hold any more.
 */
public final class Start {
  /** A state that only a person can resolve; the message says how. */
  static final class Refusal extends Exception {
    private static final long serialVersionUID = 1;

    Refusal(String message) {
      super(message);
    }
  }

  private static final PropertyKey CONTAINER = PropertyKey.WORKER_CONTAINER_HOSTNAME; // which clients prefer

  private Start() {}

  public static void main(String[] args) throws Exception {
    String[] rest = Arrays.copyOfRange(args, 1, args.length);
    try {
      switch (args[0]) {
        case "master":
          if (rest[0].equals("format")) {
            Journal.formatIfUnused();
          }
          AlluxioMaster.main(new String[0]);
          break;
        case "worker":
          Identity.claimWorkerStorage();
          nameItself();
          AlluxioWorker.main(rest);
          break;
        case "fuse":
          Identity.claimClientCache(rest);
          AlluxioFuse.main(rest);
          break;
        default:
          throw new IllegalArgumentException(args[0]);
      }
    } catch (Refusal refusal) {
      System.err.println(refusal.getMessage());
      System.exit(1);
    }
  }

  /**
   * Gives the worker the name that clients know it by. Before it caches a block, Alluxio compares where the block is to come
   * from with the name and the first address of the machine. A worker on loopback or on another network takes itself for
   * another one, and fetches each block from itself by RPC.
   */
  private static void nameItself() throws ReflectiveOperationException {
    AlluxioConfiguration conf = Configuration.global();
    Field name = NetworkAddressUtils.class.getDeclaredField("sLocalHost");
    name.setAccessible(true);
    String container = conf.isSet(CONTAINER) ? conf.getString(CONTAINER) : "";
    name.set(null, container.isEmpty()
        ? NetworkAddressUtils.getConnectHost(NetworkAddressUtils.ServiceType.WORKER_RPC, conf) : container);
  }
}
