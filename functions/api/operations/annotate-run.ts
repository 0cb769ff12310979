import { list } from '@tidewheel/kit/fields.ts';
import * as z from 'zod';
import { ok, problem } from '../shared/answers.ts';
import { CHANGES, defineRunOperation, jsonBodyOf } from '../shared/operation.ts';

/** A list of runs holds them for each one. */
const LONGEST_NOTE = 500;
const MOST_TAGS = 10;

const tag = z
  .string()
  .regex(/^[\w.:=/@+-]{1,40}$/, 'write a tag of up to 40 letters, digits and _ . : = / @ + - without spaces');

const said = z.strictObject({
  note: z.string().trim().max(LONGEST_NOTE, `write at most ${LONGEST_NOTE} characters`).default(''),
  tags: list(tag)
    .refine((tags) => tags.length <= MOST_TAGS, `give at most ${MOST_TAGS} tags`)
    .default([]),
});

/** Idempotent. The body replaces what was noted before. */
export const annotateRun = defineRunOperation(
  {
    ...CHANGES,
    route: 'PUT /runs/{runId}/annotation',
    id: 'annotateRun',
    summary: 'Notes a sentence and tags on a run, by which lists of runs are searched.',
    body: { schema: said, required: true },
    answer: z.object({ runId: z.string(), note: z.string(), tags: list(z.string()) }),
  },
  async ({ runs, clock }, { run, body, caller }) => {
    const { runId } = run;
    const given = jsonBodyOf(said, body);
    if (!given.ok) return problem(400, 'the annotation is not valid', given.problems);
    // The close of a batch decides what lists show of a run.
    if (run.closedAt === undefined)
      return problem(409, `${runId} is settling: note it once its batch is closed`);
    const { note, tags: all } = given.value;
    const tags = [...new Set(all)];
    const by = { at: clock.now().toISOString(), requestedBy: caller };
    const annotation = note === '' && tags.length === 0 ? undefined : { ...by, tags, ...(note && { note }) };
    await runs.annotate(run, { annotation });
    return ok({ runId, note, tags });
  },
);
