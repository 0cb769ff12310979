/**
 * Whether the script of a host hangs, a file a host that has hung: hosts share the prefix in the bucket.
 *
 * In: a schema for `readDocument`. Out: since when, or null once the script goes on. Errors: none. `watch-attempt.ts` reads it.
 */
import * as z from 'zod';
import { absent, type HostDocument, whereKnown } from './document.ts';

export const hangNote = {
  name: 'hangs',
  version: 1,
  schema: z.object({
    hangsSince: z.iso.datetime().nullable(),
    /** idle: it neither computes nor prints. noSteps: it computes, and makes no more steps. */
    kind: absent(z.enum(['idle', 'noSteps'])),
    /** Where each rank stands: the innermost frames. */
    ranks: whereKnown(z.array(z.string().max(300)).max(32)),
  }),
} satisfies HostDocument;
