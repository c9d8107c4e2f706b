package interop;

import interop.Rows.Finding;
import io.modelcontextprotocol.spec.McpSchema.SubscribeRequest;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.concurrent.atomic.AtomicInteger;

/** The official SDK over one connection: choose a skill, read it, verify it, hear of its next release. */
final class OneConnection {

    private static final String TASK = "match a candidate's CV to open positions";

    private OneConnection() {}

    static Finding findsAndReads(Stage stage) throws Exception {
        try (Connection connection = new Connection(stage.origin(), stage.endpoint())) {
            ListedTools tools = new ListedTools(connection.client.listTools().tools());
            Check.that(tools.cards().stream().allMatch(card -> !card.description().isBlank()), "every card says what for");
            Check.that(tools.schema("search_skills").containsKey("properties"), "schema of search_skills");
            Check.that(throwsForUnlisted(tools), "a schema of a name that was never listed");

            Map<String, Object> found = connection.call("search_skills", Map.of("query", TASK));
            Map<String, Object> best = Json.objects(found.get("cards")).get(0);
            Map<String, Object> loaded = connection.call(
                    "load_skill", Map.of("uri", best.get("uri"), "pickId", found.get("pickId")));
            Check.equal(best.get("uri"), loaded.get("uri"), "the loaded skill");

            Manifest manifest = new Manifest(Json.objects(loaded.get("files")));
            for (String uri : manifest.uris()) connection.read(uri, manifest);
            return Finding.passed(
                    connection.era(),
                    tools.cards().size() + " cards; all " + manifest.uris().size() + " files of " + best.get("name")
                            + " verified");
        }
    }

    private static boolean throwsForUnlisted(ListedTools tools) {
        try {
            tools.schema("delete_everything");
            return false;
        } catch (NoSuchElementException expected) {
            return true;
        }
    }

    static Finding hearsOfPublish(Stage stage) throws Exception {
        AtomicInteger resourceLists = new AtomicInteger();
        AtomicInteger updates = new AtomicInteger();
        String description = "Plan the first two weeks of a new colleague.";
        AtomicInteger newDescriptions = new AtomicInteger();
        String endpoint = stage.endpoint() + "/as-tools";
        try (Connection connection = new Connection(stage.origin(), endpoint, spec -> spec
                // The SDK lists again by itself and hands over what it found.
                .toolsChangeConsumer(tools -> tools.stream()
                        .filter(tool -> description.equals(tool.description()))
                        .forEach(tool -> newDescriptions.incrementAndGet()))
                .resourcesChangeConsumer(resources -> resourceLists.incrementAndGet())
                .resourcesUpdateConsumer(contents -> updates.incrementAndGet()))) {
            String uri = "skill://" + stage.namespace() + "/plan-onboarding/SKILL.md";
            connection.client.subscribeResource(
                    SubscribeRequest.builder(uri).build());
            long published = System.nanoTime();
            new Publisher(stage).publish("plan-onboarding", description);
            Check.soon(() -> newDescriptions.get() > 0, "tools/list_changed");
            Check.soon(() -> resourceLists.get() > 0, "resources/list_changed");
            Check.soon(() -> updates.get() > 0, "resources/updated");
            long milliseconds = (System.nanoTime() - published) / 1_000_000;
            return Finding.passed(
                    connection.era(),
                    "tools/list_changed, resources/list_changed and resources/updated on the GET stream, "
                            + "lists read again by the SDK, " + milliseconds + " ms after the publish began");
        }
    }
}
