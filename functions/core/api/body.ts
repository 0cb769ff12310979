/** Bodies of requests in JSON. */

import { type Checked, check } from '@tidewheel/kit/validation.ts';
import type * as z from 'zod';

/** An empty body is an empty object. */
export function bodyOf<T>(schema: z.ZodType<T>, body: string): Checked<T> {
  try {
    return check(schema, body.trim() === '' ? {} : JSON.parse(body), 'shown');
  } catch {
    return {
      ok: false,
      problems: [{ path: '', message: 'the body is no JSON: send an object, or nothing' }],
    };
  }
}
