package interop;

/** Runs every try in turn; each is a row of the README's table. */
public final class Main {

    private Main() {}

    public static void main(String[] arguments) {
        Stage stage = Stage.fromEnvironment();
        Rows rows = new Rows();
        String sdk = System.getProperty("version.mcp");

        Rows.About official = rows.about("Java SDK (io.modelcontextprotocol.sdk:mcp)", sdk, "2025-11-25");
        official.add("one connection: " + Tries.READS, () -> OneConnection.findsAndReads(stage));
        official.add(Tries.HEARS, () -> OneConnection.hearsOfPublish(stage));
        official.add(Tries.INDEX, () -> TwoRegistries.keyedByServerAndUri(stage));

        Rows.About modern = rows.about("Java SDK (io.modelcontextprotocol.sdk:mcp)", sdk, ModernConnection.ERA);
        modern.add("one connection: " + Tries.READS, () -> ModernTries.findsAndReads(stage));
        modern.add(Tries.HEARS, () -> ModernTries.hearsOfPublish(stage));
        modern.add(Tries.INDEX, () -> ModernTries.skillIndex(stage));

        // With this SDK in place of the older one that it brings, which SpringMain tries.
        String springVersion = System.getProperty("version.spring-ai") + " (SDK " + sdk + ")";
        rows.about("Spring AI", springVersion, "2025-11-25")
                .add(Tries.BINDS, () -> SpringHost.bindsWhatTheSkillNames(stage));

        String langChainVersion = System.getProperty("version.langchain4j");
        Rows.About langChain = rows.about("LangChain4j (langchain4j-mcp)", langChainVersion, LangChainHost.ERA);
        langChain.add("search, load, read, verify", () -> LangChainHost.findsAndReads(stage));
        langChain.add(Tries.HEARS, () -> LangChainHost.hearsOfPublish(stage));
        langChain.add(Tries.BINDS, () -> LangChainHost.bindsWhatTheSkillNames(stage));
        langChain.add(Tries.SHOWS, LangChainHost::keepsSchemas);

        // Threads of the HTTP clients would keep the JVM alive.
        System.exit(rows.allPassed() ? 0 : 1);
    }
}
