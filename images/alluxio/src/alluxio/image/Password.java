package alluxio.image;

import alluxio.conf.PropertyKey;
import alluxio.security.authentication.AuthType;
import alluxio.security.authentication.AuthenticationProvider;
import alluxio.security.user.UserState;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;

import javax.security.sasl.AuthenticationException;

/**
 * The password of a deployment: services answer only those who have it, whatever user they say they are. It is the
 * content of {@code conf/rpc-password}, read at each use.
 *
 * <p>Services check it where {@code alluxio.security.authentication.type} is {@code CUSTOM} and
 * {@code alluxio.security.authentication.custom.provider.class} names this class. Alluxio's clients send a password that
 * they find among the credentials of their login, and have no setting that puts one there: as an agent of their JVM,
 * this class does.
 */
public final class Password implements AuthenticationProvider {
  /** Alluxio's own client sends this word where it has no password. */
  private static final String NONE = "noPassword";

  @Override
  public void authenticate(String user, String password) throws AuthenticationException {
    String wanted = read();
    if (wanted.isEmpty() || wanted.equals(NONE)
        || !MessageDigest.isEqual(bytes(wanted), bytes(password))) {
      throw new AuthenticationException("this deployment's password was not given");
    }
  }

  /** Has every login of this JVM carry the password. */
  public static void premain(String arguments) {
    UserState.FACTORIES.add(0, (subject, conf, isServer) -> {
      if (conf.getEnum(PropertyKey.SECURITY_AUTHENTICATION_TYPE, AuthType.class) == AuthType.CUSTOM) {
        subject.getPrivateCredentials().add(read());
      }
      // Alluxio's own factory, the next, logs this subject in.
      return null;
    });
  }

  private static String read() {
    try {
      return Files.readString(Path.of(System.getProperty("alluxio.conf.dir"), "rpc-password")).strip();
    } catch (IOException e) {
      throw new UncheckedIOException("conf/rpc-password cannot be read", e);
    }
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
