/** The policy of docs/deploy.md for people who only drop data, tried as it is printed there. */
import { readFileSync } from 'node:fs';
import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { expect, it } from 'vitest';
import * as z from 'zod';
import { type Call, isAllowed, type Role } from '../roles.ts';
import { list, object, RUN, read, role, write } from './call-words.ts';

const statementSchema = z.strictObject({
  Effect: z.literal('Allow'),
  Action: z.array(z.string()),
  Resource: z.string(),
});

function dropper(pipeline: string): Role {
  const page = readFileSync('docs/deploy.md', 'utf8');
  const printed = /```json\n(\{\n {2}"Effect"[^`]*)```/.exec(page)?.[1] ?? '';
  const named = printed.replace('<DataBucketName>', 'tw-databucket').replace('<pipeline>', pipeline);
  return { id: 'people', arn: role('people'), statements: [statementSchema.parse(JSON.parse(named))] };
}

const incoming = bucketKeys.incoming('digits');

it('lets people drop data, in parts too', async () => {
  const calls: readonly Call[] = [
    write(`${incoming}7/0001.png`),
    write(`${incoming}_SUCCESS`),
    object('s3:AbortMultipartUpload', `${incoming}large.tar`),
  ];
  for (const call of calls) expect(await isAllowed(dropper('digits'), call)).toBe(true);
});

it('lets them start no code, and reach nothing else', async () => {
  const calls: readonly Call[] = [
    write(bucketKeys.pipeline('digits')),
    write(`${bucketKeys.source('digits')}train.py`),
    write(`${bucketKeys.incoming('digits-2')}0001.png`),
    write(`${bucketKeys.incoming('other')}0001.png`),
    write(`${bucketKeys.checkpoints('digits', RUN)}step-10/state.pt`),
    write(bucketKeys.manifest('digits', RUN)),
    read(`${incoming}7/0001.png`),
    object('s3:DeleteObject', `${incoming}7/0001.png`),
    list(incoming),
  ];
  for (const call of calls) expect(await isAllowed(dropper('digits'), call)).toBe(false);
});
