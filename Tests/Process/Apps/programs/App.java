// SPDX-License-Identifier: Apache-2.0

// An ordinary Java program: compresses, hashes, and lets the machine compile what is hot. It measures nothing itself.
//
// Standard input says what it does besides: `work` begins threads that compute, `later` opens what system libraries
// open by themselves at their first use. Each line is answered by `done`.

import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.security.MessageDigest;
import java.util.zip.GZIPOutputStream;

public final class App {
  static void roundOfWork() throws Exception {
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < 2000; i++) text.append(i * 31 % 7).append(' ');
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (GZIPOutputStream packed = new GZIPOutputStream(bytes)) {
      packed.write(text.toString().getBytes());
    }
    MessageDigest.getInstance("SHA-256").digest(bytes.toByteArray());
  }

  static void later() {
    for (String host : new String[] {"localhost", "nowhere.invalid", "nowhere.local"}) {
      try {
        InetAddress.getAllByName(host);
      } catch (UnknownHostException expected) {
        continue;
      }
    }
  }

  public static void main(String[] arguments) throws Exception {
    roundOfWork();
    InetAddress.getLoopbackAddress();
    System.load(arguments[0]);
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      if (line.equals("work")) {
        for (int i = 0; i < 2; i++) {
          Thread worker = new Thread(() -> {
            try {
              while (true) roundOfWork();
            } catch (Exception error) {
              throw new IllegalStateException(error);
            }
          });
          worker.setDaemon(true);
          worker.start();
        }
      }
      if (line.equals("later")) later();
      System.out.println("done");
    }
    Runtime.getRuntime().halt(0);
  }
}
