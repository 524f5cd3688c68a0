package alluxio.image;

import alluxio.conf.Configuration;
import alluxio.master.NoopMaster;
import alluxio.master.ServiceUtils;
import alluxio.master.journal.JournalSystem;
import alluxio.master.journal.JournalUtils;
import alluxio.util.CommonUtils;

import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Optional;
import java.util.stream.Stream;

/** Formats the master's journal when there is nothing in it to lose. */
final class Journal {
  private Journal() {}

  static void formatIfUnused() throws IOException, Start.Refusal {
    URI location = JournalUtils.getJournalLocation();
    JournalSystem journal = new JournalSystem.Builder().setLocation(location).build(CommonUtils.ProcessType.MASTER);
    ServiceUtils.getMasterServiceNames().forEach(name -> journal.createJournal(new NoopMaster(name)));
    if (journal.isFormatted()) {
      return;
    }
    Optional<Path> entry = firstEntry(location);
    if (entry.isPresent()) {
      throw new Start.Refusal("The journal at " + location + " is not complete, but " + entry.get()
          + " is there: restore the journal, or empty the folder if its namespace may be forgotten");
    }
    System.out.println("Formatting the empty journal at " + location);
    journal.format();
  }

  /** A file that an earlier, interrupted format did not make. */
  private static Optional<Path> firstEntry(URI location) throws IOException {
    if (location.getScheme() != null && !location.getScheme().equals("file")) {
      return Optional.empty();
    }
    Path folder = Paths.get(location.getPath());
    if (!Files.exists(folder)) {
      return Optional.empty();
    }
    try (Stream<Path> below = Files.walk(folder)) {
      return below.filter(Files::isRegularFile)
          .filter(file -> !file.getFileName().toString().startsWith("_format_")).findFirst();
    }
  }
}
