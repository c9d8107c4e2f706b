package interop;

/** Enough to choose a skill. Two servers may serve the same URI, so only both together name a skill. */
record SkillCard(String serverId, String uri, String name, String description) {

    record Key(String serverId, String uri) {}

    Key key() {
        return new Key(serverId, uri);
    }
}
