package interop;

import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.json.JsonMapper;

/** What test/interop/stage.ts opened for us, told in the variable REGISTRY. */
record Stage(String origin, String secondOrigin, String namespace, String publisherToken) {

    static Stage fromEnvironment() {
        JsonMapper json = JsonMapper.builder()
                .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
                .build();
        return json.readValue(System.getenv("REGISTRY"), Stage.class);
    }

    String endpoint() {
        return "/mcp/" + namespace;
    }
}
