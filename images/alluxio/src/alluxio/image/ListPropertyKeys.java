package alluxio.image;

import alluxio.conf.PropertyKey;
import java.lang.reflect.Field;
import java.util.TreeSet;
import java.util.regex.Pattern;

/**
 * Prints every property key that one Alluxio version knows, sorted: plain keys as they are, templated ones as "~" and
 * the regular expression that Alluxio itself matches them with.
 *
 * <p>Run in the image: {@code java -cp '/opt/alluxio/jars/*' alluxio.image.ListPropertyKeys}.
 */
public final class ListPropertyKeys {
  public static void main(String[] args) throws ReflectiveOperationException {
    TreeSet<String> lines = new TreeSet<>();
    for (PropertyKey key : PropertyKey.defaultKeys()) {
      lines.add(key.getName());
    }
    for (PropertyKey.Template template : PropertyKey.Template.values()) {
      lines.add("~" + patternOf(template).pattern());
    }
    lines.forEach(System.out::println);
  }

  private static Pattern patternOf(PropertyKey.Template template) throws ReflectiveOperationException {
    for (Field field : PropertyKey.Template.class.getDeclaredFields()) {
      if (field.getType() == Pattern.class) {
        field.setAccessible(true);
        return (Pattern) field.get(template);
      }
    }
    throw new NoSuchFieldException("PropertyKey.Template holds no pattern");
  }
}
