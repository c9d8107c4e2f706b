package interop;

/** What is tried of several programs, in the words of the table. */
final class Tries {

    static final String READS = "cards, a schema by name, search, load, read, verify";
    static final String HEARS = "hears of a publish at a collection with a tool for each skill";
    static final String INDEX = "SkillIndex over two registries that serve the same addresses";
    static final String BINDS = "binds only the tools that the selected skill names";
    static final String SHOWS = "shows the model each schema as it was listed";

    private Tries() {}
}
