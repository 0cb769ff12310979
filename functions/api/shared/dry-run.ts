/** A call that only asks whether it would be refused: its operation runs as ever, up to its first change. */
import { check } from '@tidewheel/kit/validation.ts';
import * as z from 'zod';
import { type ApiRequest, type ApiResponse, problem, refused } from './answers.ts';
import type { ApiDeps } from './operation.ts';

export const DRY_RUN_HEADER = z.object({
  'tidewheel-dry-run': z
    .literal('true')
    .optional()
    .describe('Changes nothing. 412: nothing speaks against the call. Otherwise its answer or refusal.'),
});

/** An operation of a dry run has come to a change. */
class FirstChangeError extends Error {
  override readonly name = 'FirstChangeError';
}

/** Answers by `respond`, which gets ports that read alone where the request asks for a dry run. */
export async function orDryRun(
  deps: ApiDeps,
  { headers = {} }: Pick<ApiRequest, 'headers'>,
  respond: (deps: ApiDeps) => Promise<ApiResponse>,
): Promise<ApiResponse> {
  const asked = check(DRY_RUN_HEADER, headers, 'shown');
  if (!asked.ok) return refused('the dry run is not valid', asked.problems);
  if (asked.value['tidewheel-dry-run'] === undefined) return respond(deps);
  const said = ['nothing is done, as the dry run asks: nothing speaks against the call'];
  const preview = (sentence: string) => void said.push(sentence);
  try {
    return await respond({ ...reading(deps), preview, blobs: async () => reading(await deps.blobs()) });
  } catch (error: unknown) {
    if (error instanceof FirstChangeError) return problem(412, said.join('. '));
    throw error;
  }
}

/** Any other method counts as a change. */
const READS = /^(get|list|read|find|has|head|now|status|takenAt|digestOf|wholeCheck)/;

function reading<Port extends object>(port: Port): Port {
  return new Proxy(port, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value === 'object' && value !== null && !Array.isArray(value)) return reading(value);
      if (typeof value !== 'function') return value;
      return (...given: unknown[]): unknown => {
        if (!READS.test(String(name))) throw new FirstChangeError(String(name));
        return Reflect.apply(value, target, given);
      };
    },
  });
}
