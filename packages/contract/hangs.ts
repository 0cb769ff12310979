/**
 * Whether the script of a host hangs, a file a host that has hung: hosts share the prefix in the bucket.
 *
 * In: a schema for `readDocument`. Out: since when, or null once the script goes on. Errors: none. `watch-attempt.ts` reads it.
 */
import * as z from 'zod';
import type { HostDocument } from './document.ts';

export const hangNote = {
  name: 'hangs',
  version: 1,
  schema: z.object({ hangsSince: z.iso.datetime().nullable() }),
} satisfies HostDocument;
