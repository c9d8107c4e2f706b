package interop;

import java.util.List;
import java.util.Map;

/** Walks through parsed JSON, which the SDK hands out as maps and lists. */
final class Json {

    private Json() {}

    @SuppressWarnings("unchecked")
    static Map<String, Object> object(Object value) {
        return (Map<String, Object>) value;
    }

    @SuppressWarnings("unchecked")
    static List<Map<String, Object>> objects(Object value) {
        return (List<Map<String, Object>>) value;
    }
}
