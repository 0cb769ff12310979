/** What the script's checkpoints and its progress look like, where the agent should not guess. */
import * as z from 'zod';
import { patternFacts } from './patterns.ts';

const LONGEST_GLOB = 200;

/** Below the checkpoint folder, or below the folder that the script runs in. */
const folder = z
  .string()
  .regex(
    /^(\$\{checkpoints\}(\/[A-Za-z0-9_.-]{1,100}){0,5}|[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}(\/[A-Za-z0-9_.-]{1,100}){0,5})$/,
    'name a folder below the one that the script runs in, such as out, or ${checkpoints}/out',
  )
  .refine((path) => !path.split('/').some((part) => /^\.+$/.test(part)), 'leave out "." and ".."');

const glob = z
  .string()
  .min(1)
  .max(LONGEST_GLOB)
  .refine((text) => !/[\0\r\n]/.test(text) && text.isWellFormed(), 'a file name holds no such character')
  .refine(
    (text) => !text.startsWith('/') && !text.endsWith('/'),
    'write it relative to the folder, without a slash at its ends',
  )
  .refine(
    (text) => !text.split('/').some((part) => /^(\.*|\*\*)$/.test(part)),
    'leave out ".", ".." and "**"',
  );

const step = z
  .string()
  .superRefine((text, context) => {
    if (text === 'name' || text === 'time') return;
    const { problems, captures } = patternFacts(text);
    const all =
      problems.length > 0 || captures === 1
        ? problems
        : ['put the step, and nothing else, into a group: epoch=(\\d+)'];
    for (const message of all) context.addIssue({ code: 'custom', message });
  })
  .describe(
    'name (default): the last number in the path; time: the newest file; or an expression with one group.',
  );

const rules = z
  .strictObject({
    folder: folder
      .optional()
      .describe(
        'Where the script writes them: ${checkpoints} (default), a folder below it, or one below the folder in which it runs.',
      ),
    pattern: glob
      .optional()
      .describe('What is one checkpoint: a file or a folder, such as epoch_*.pt or checkpoint-*.'),
    step: step.optional(),
    keep: z
      .number()
      .int()
      .min(2)
      .max(1_000)
      .optional()
      .describe('How many are kept; the agent deletes older ones. All by default.'),
  })
  .superRefine((given, context) => {
    if (Object.keys(given).length === 0)
      context.addIssue({ code: 'custom', message: 'name folder, pattern, step or keep, or take it out' });
    if (given.pattern !== undefined) return;
    for (const field of ['step', 'keep'] as const)
      if (given[field] !== undefined)
        context.addIssue({
          code: 'custom',
          path: [field],
          message: 'needs training.checkpoint.pattern beside it',
        });
  });

export const checkpointSchema = z
  .union([z.literal('automatic'), rules])
  .describe(
    "What counts as a checkpoint, instead of the agent's own rules. automatic: the agent saves and restores a PyTorch script that does neither; strategies single and ddp.",
  );

export const progressSchema = z.strictObject({
  pattern: z
    .string()
    .superRefine((text, context) => {
      const { problems, names } = patternFacts(text);
      const all =
        problems.length > 0 || names.includes('step')
          ? problems
          : ['name the group that holds the step: step (?P<step>\\d+)/(?P<total>\\d+)'];
      for (const message of all) context.addIssue({ code: 'custom', message });
    })
    .describe(
      "Read from each line that the script prints, in Python's syntax: (?P<step>…), (?P<total>…) and any metric.",
    ),
});

export const objectiveSchema = z
  .strictObject({
    metric: z
      .string()
      .min(1)
      .max(120)
      .regex(/^\P{Cc}+$/u, 'leave out control characters')
      .describe('As the script prints or logs it, such as eval_accuracy.'),
    mode: z.enum(['min', 'max'], 'write min or max').describe('Which of two values is better.'),
  })
  .describe('The metric that leads wherever a run is shown.');
