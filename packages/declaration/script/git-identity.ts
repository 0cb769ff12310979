/** The commit that a source was sent from. The note of it may be of another state of the folder, or foreign. */
import { createHash } from 'node:crypto';
import * as z from 'zod';
import { belongsToSource } from './source-files.ts';

export const gitIdentitySchema = z.object({
  commit: z.string().regex(/^[0-9a-f]{40,64}$/),
  /** Absent on a detached head. */
  branch: z
    .string()
    .max(250)
    .regex(/^[^\p{Cc}]+$/u)
    .optional(),
  isDirty: z.boolean().describe('Whether files of the source differ from the commit.'),
});
export type GitIdentity = Readonly<z.output<typeof gitIdentitySchema>>;

/** As it lies beside the source. */
export const gitNoteSchema = gitIdentitySchema.extend({ files: z.string() });

interface SourceObject {
  /** Relative to the source. */
  readonly name: string;
  readonly etag: string;
}

/** Identifies the objects of a source. A note with another fingerprint describes an earlier state. */
export function sourceFingerprint(objects: readonly SourceObject[]): string {
  const lines = objects
    .filter(({ name }) => belongsToSource(name))
    .map(({ name, etag }) => JSON.stringify([name, etag]));
  return createHash('sha256').update(lines.toSorted().join('\n')).digest('hex');
}
