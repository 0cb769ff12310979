/** What a person reads of fields that a schema does not have. */

import { expect, it } from 'vitest';
import * as z from 'zod';
import { check } from '../validation.ts';

const schema = z.strictObject({ training: z.string().optional(), compute: z.string().optional() });

it.each([
  [{ trainning: 1 }, 'has no field "trainning": did you mean training?'],
  [
    { trainning: 1, colour: 2 },
    'has no field "trainning" (did you mean training?), "colour": take them out, or write one of training, compute',
  ],
  [{ colour: 2 }, 'has no field "colour": take it out, or write one of training, compute'],
])('of %j says what was meant', (content, message) => {
  expect(check(schema, content, 'shown')).toEqual({ ok: false, problems: [{ path: '', message }] });
});
