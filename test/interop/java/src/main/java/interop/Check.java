package interop;

import java.util.Objects;
import java.util.function.BooleanSupplier;

final class Check {

    private Check() {}

    static void that(boolean holds, String what) {
        if (!holds) throw new AssertionError(what);
    }

    static void equal(Object expected, Object found, String what) {
        that(Objects.equals(expected, found), what + ": expected " + expected + ", found " + found);
    }

    /** News arrive by themselves; nothing else tells when they did. */
    static void soon(BooleanSupplier holds, Object what) throws InterruptedException {
        long end = System.nanoTime() + 15_000_000_000L;
        while (!holds.getAsBoolean()) {
            that(System.nanoTime() < end, "not within 15 s: " + what);
            Thread.sleep(20);
        }
    }
}
