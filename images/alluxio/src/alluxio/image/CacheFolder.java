package alluxio.image;

import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** A folder of cached bytes that carries the identity of what they were cached from, in its file {@code .identity}. */
final class CacheFolder {
  private static final String MARK = ".identity";
  private static final String NEW_MARK = ".identity.new";
  /** Of a file system's own making, in its root. */
  private static final Set<String> INERT = Set.of(MARK, NEW_MARK, "lost+found");

  private final Path mFolder;
  private final Map<String, Pattern> mLayout;

  /**
   * @param layout the entries that a cache of this kind makes in its folder, and what is in each of them
   */
  CacheFolder(Path folder, Map<String, Pattern> layout) {
    mFolder = folder;
    mLayout = layout;
  }

  /**
   * Makes the folder one of this identity: content of another is deleted. Nothing is touched, and {@link Start.Refusal}
   * thrown, where anything is there that no cache of this kind makes.
   */
  void claim(String identity) throws IOException, Start.Refusal {
    try {
      claimWritable(identity);
    } catch (AccessDeniedException e) {
      throw new Start.Refusal(e.getFile() + " is not writable for this user: give " + mFolder + " to it, or name another folder");
    }
  }

  private void claimWritable(String identity) throws IOException, Start.Refusal {
    Files.createDirectories(mFolder);
    List<Path> cached = entries(mFolder).stream().filter(entry -> !INERT.contains(name(entry))).collect(Collectors.toList());
    refuseStrangers(cached);
    Path mark = mFolder.resolve(MARK);
    if (Files.exists(mark) && Files.readString(mark).equals(identity)) {
      return;
    }
    // In this order, a claim that is killed anywhere is made again by the next start.
    Files.deleteIfExists(mark);
    for (Path entry : cached) {
      System.out.println("Discarding " + entry + ": it was not cached from " + identity.strip().replace("\n", ", "));
      deleteTree(entry);
    }
    Path written = Files.writeString(mFolder.resolve(NEW_MARK), identity);
    Files.move(written, mark, StandardCopyOption.ATOMIC_MOVE);
  }

  /**
   * Deletes blocks, the first cached ones first, until no more than so many bytes are left: a worker that finds more
   * than its tier may hold does not start.
   *
   * @param data the entry that the blocks are in
   */
  void fit(String data, long bytes) throws IOException {
    Path folder = mFolder.resolve(data);
    if (!Files.isDirectory(folder)) {
      return;
    }
    List<Path> blocks = entries(folder).stream().filter(Files::isRegularFile).collect(Collectors.toList());
    Map<Path, FileTime> cached = new HashMap<>();
    long held = 0;
    for (Path block : blocks) {
      cached.put(block, Files.getLastModifiedTime(block));
      held += Files.size(block);
    }
    if (held > bytes) {
      System.out.println("Discarding blocks of " + folder + ": it holds " + held + " bytes and may hold " + bytes);
    }
    blocks.sort(Comparator.comparing(cached::get));
    for (Path block : blocks) {
      if (held <= bytes) {
        return;
      }
      held -= Files.size(block);
      Files.delete(block);
    }
  }

  private void refuseStrangers(List<Path> cached) throws IOException, Start.Refusal {
    for (Path entry : cached) {
      Pattern inside = mLayout.get(name(entry));
      boolean known = inside != null && Files.isDirectory(entry, LinkOption.NOFOLLOW_LINKS);
      for (Path below : known ? entries(entry) : List.<Path>of()) {
        known &= inside.matcher(name(below)).matches();
      }
      if (!known) {
        throw new Start.Refusal(mFolder + " is to hold cached bytes only, but Alluxio did not make " + entry
            + ": name an empty folder instead, or take that away");
      }
    }
  }

  private static String name(Path path) {
    return path.getFileName().toString();
  }

  private static List<Path> entries(Path folder) throws IOException {
    try (Stream<Path> list = Files.list(folder)) {
      return list.collect(Collectors.toList());
    }
  }

  private static void deleteTree(Path root) throws IOException {
    Files.walkFileTree(root, new SimpleFileVisitor<>() {
      @Override
      public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
        Files.delete(file);
        return FileVisitResult.CONTINUE;
      }

      @Override
      public FileVisitResult postVisitDirectory(Path folder, IOException failure) throws IOException {
        if (failure != null) {
          throw failure;
        }
        Files.delete(folder);
        return FileVisitResult.CONTINUE;
      }
    });
  }
}
