package interop;

import interop.Rows.Finding;
import io.modelcontextprotocol.spec.McpSchema.SubscribeRequest;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** The official SDK over one connection: choose a skill, read it, verify it, hear of its next release. */
final class OneConnection {

    static final String TASK = "match a candidate's CV to open positions";

    private OneConnection() {}

    static Finding findsAndReads(Stage stage) throws Exception {
        try (Connection connection = new Connection(stage.origin(), stage.endpoint())) {
            ListedTools tools = connection.tools();
            tools.check();

            Map<String, Object> found = connection.call("search_skills", Map.of("query", TASK));
            Map<String, Object> best = Json.objects(found.get("cards")).get(0);
            Map<String, Object> loaded =
                    connection.call("load_skill", Map.of("uri", best.get("uri"), "pickId", found.get("pickId")));
            Check.equal(best.get("uri"), loaded.get("uri"), "the loaded skill");

            Manifest manifest = new Manifest(Json.objects(loaded.get("files")));
            for (String uri : manifest.uris()) connection.read(uri, manifest);
            return Finding.passed(
                    connection.era(),
                    tools.cards().size() + " cards; all " + manifest.uris().size() + " files of " + best.get("name")
                            + " verified");
        }
    }

    /** Up to 2.0.1 the SDK drops the stream over a field that every server may send, and says so to nobody. */
    private static boolean refusesRetryField(Throwable problem) {
        return problem != null && problem.getMessage().matches("Invalid SSE response.*Line: retry: \\d+");
    }

    static Finding hearsOfPublish(Stage stage) throws Exception {
        Set<String> heard = ConcurrentHashMap.newKeySet();
        String endpoint = stage.endpoint() + "/as-tools";
        String description = "Plan the first two weeks of a new colleague.";
        // The SDK lists again by itself, and hands over what it found.
        try (Connection connection =
                new Connection(stage.origin(), endpoint, spec -> spec.toolsChangeConsumer(tools -> {
                            if (tools.stream().anyMatch(tool -> description.equals(tool.description()))) {
                                heard.add("tools/list_changed");
                            }
                        })
                        .resourcesChangeConsumer(resources -> heard.add("resources/list_changed"))
                        .resourcesUpdateConsumer(contents -> heard.add("resources/updated")))) {
            String uri = "skill://" + stage.namespace() + "/plan-onboarding/SKILL.md";
            connection.client.subscribeResource(SubscribeRequest.builder(uri).build());
            long published = System.nanoTime();
            new Publisher(stage).publish("plan-onboarding", description);
            Check.soon(() -> heard.size() == 3 || refusesRetryField(connection.problem()), heard);
            if (refusesRetryField(connection.problem())) {
                return Finding.clientFails(
                        connection.era(),
                        "hears nothing: \"" + connection.problem().getMessage()
                                + "\", though any SSE stream may set it "
                                + "(java-sdk#1047); the SDK from 2.1.0 on does not fail");
            }
            long milliseconds = (System.nanoTime() - published) / 1_000_000;
            return Finding.passed(
                    connection.era(),
                    "tools/list_changed, resources/list_changed and resources/updated on the GET stream, and what was "
                            + "listed again, " + milliseconds + " ms after the publish began");
        }
    }
}
