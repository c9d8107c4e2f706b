package interop;

/** Runs every try in turn; each is a row of the README's table. */
public final class Main {

    private Main() {}

    public static void main(String[] arguments) {
        Stage stage = Stage.fromEnvironment();
        Rows rows = new Rows();
        String sdk = "Java SDK (io.modelcontextprotocol.sdk:mcp)";
        String mcp = System.getProperty("version.mcp");
        rows.add(sdk, mcp, "2025", "one connection: initialize, listTools, search, load, read, verify", () -> OneConnection.findsAndReads(stage));
        rows.add(sdk, mcp, "2025", "hears of a publish at a collection with tools", () -> OneConnection.hearsOfPublish(stage));
        rows.add(sdk, mcp, "2025", "SkillIndex over two registries with the same addresses", () -> TwoRegistries.keyedByServerAndUri(stage));
        // Threads of the HTTP clients would keep the JVM alive.
        System.exit(rows.allPassed() ? 0 : 1);
    }
}
