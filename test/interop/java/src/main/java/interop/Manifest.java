package interop;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Base64;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The files of a skill as its entry, or `load_skill`, lists them; nothing that was read is used unchecked. */
final class Manifest {

    private record File(String digest, long size) {}

    private final Map<String, File> files = new LinkedHashMap<>();

    /** Of objects with `uri`, `digest` and `size`. */
    Manifest(List<Map<String, Object>> listed) {
        for (Map<String, Object> file : listed) {
            files.put(
                    (String) file.get("uri"),
                    new File((String) file.get("digest"), ((Number) file.get("size")).longValue()));
        }
    }

    Set<String> uris() {
        return files.keySet();
    }

    /** Either text or base64 is null. */
    byte[] verified(String uri, String text, String base64) throws NoSuchAlgorithmException {
        File file = files.get(uri);
        Check.that(file != null, uri + " is not in the manifest");
        byte[] bytes = text != null
                ? text.getBytes(StandardCharsets.UTF_8)
                : Base64.getDecoder().decode(base64);
        Check.equal(file.size(), (long) bytes.length, "size of " + uri);
        byte[] hash = MessageDigest.getInstance("SHA-256").digest(bytes);
        Check.equal(file.digest(), "sha256:" + HexFormat.of().formatHex(hash), "digest of " + uri);
        return bytes;
    }
}
