package interop;

import java.util.LinkedHashMap;
import java.util.Map;
import tools.jackson.databind.json.JsonMapper;

/** Says what came of each try, in the form that test/interop/row.ts reads. */
final class Rows {

    /** What one try found out. */
    record Finding(String era, String result, String note) {
        static Finding passed(String era, String note) {
            return new Finding(era, "passed", note);
        }

        /** The client is at fault; the note holds the evidence. */
        static Finding clientFails(String era, String note) {
            return new Finding(era, "client fails", note);
        }
    }

    interface Try {
        Finding run() throws Exception;
    }

    private boolean allPassed = true;

    /** Rows about one program, in one era. */
    final class About {

        private final String client;
        private final String version;
        private final String era;

        private About(String client, String version, String era) {
            this.client = client;
            this.version = version;
            this.era = era;
        }

        void add(String tried, Try attempt) {
            Finding finding;
            try {
                finding = attempt.run();
            } catch (Exception | AssertionError problem) {
                problem.printStackTrace();
                finding = new Finding(era, "failed", problem.toString());
            }
            allPassed &= !finding.result().equals("failed");
            Map<String, String> row = new LinkedHashMap<>();
            row.put("client", client);
            row.put("version", version);
            row.put("era", finding.era());
            row.put("tried", tried);
            row.put("result", finding.result());
            row.put("note", finding.note());
            System.out.println("interop-row " + new JsonMapper().writeValueAsString(row));
        }
    }

    About about(String client, String version, String era) {
        return new About(client, version, era);
    }

    boolean allPassed() {
        return allPassed;
    }
}
