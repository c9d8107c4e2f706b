package interop;

/** What a Spring AI host finds with the SDK that it brings. */
public final class SpringMain {

    private SpringMain() {}

    public static void main(String[] arguments) {
        Stage stage = Stage.fromEnvironment();
        Rows rows = new Rows();
        String version = System.getProperty("version.spring-ai") + " (SDK " + System.getProperty("version.mcp") + ")";
        Rows.About spring = rows.about("Spring AI", version, "2025-11-25");
        spring.add(Tries.READS, () -> OneConnection.findsAndReads(stage));
        spring.add(Tries.HEARS, () -> OneConnection.hearsOfPublish(stage));
        spring.add(Tries.INDEX, () -> TwoRegistries.keyedByServerAndUri(stage));
        spring.add(Tries.BINDS, () -> SpringHost.bindsWhatTheSkillNames(stage));
        spring.add(Tries.SHOWS, SpringHost::keepsSchemas);
        System.exit(rows.allPassed() ? 0 : 1);
    }
}
