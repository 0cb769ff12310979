/** Calls of the HTTP API, signed with the person's credentials. */
import { setTimeout as sleep } from 'node:timers/promises';
import { defaultProvider } from '@aws-sdk/credential-provider-node';
import { signedHeaders } from '@tidewheel/emulators/shared/signed-headers.ts';
import * as z from 'zod';
import { remedyOf } from '../deployment/surroundings.ts';
import type { Deployment } from './deployment.ts';
import { NotAllowedError } from './exit.ts';

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

/** An answer that says no, in the API's own words. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export interface Api {
  /**
   * @param path below the API's address, its parts encoded
   * @throws ApiError where the answer is no @throws NotAllowedError where it is 403
   */
  call<Schema extends z.ZodType>(
    schema: Schema,
    method: Method,
    path: string,
    body?: unknown,
  ): Promise<z.output<Schema>>;
}

const TIMEOUT_MILLISECONDS = 30_000;
/** Every call may be repeated (docs/api.md). */
const TRIES = 6;
const FIRST_WAIT_SECONDS = 1;
const LATER = [429, 500, 502, 503, 504];

const refusal = z.object({
  message: z.string().optional(),
  // API Gateway writes it so where a signature or a permission is wrong.
  Message: z.string().optional(),
  problems: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
});

export function apiOf({ apiUrl, region, title }: Pick<Deployment, 'apiUrl' | 'region' | 'title'>): Api {
  const signing = { service: 'execute-api', region, credentials: defaultProvider() };
  const send = async (method: Method, path: string, body?: string): Promise<Response> => {
    const url = new URL(`${apiUrl}${path}`);
    const json = body === undefined ? {} : { 'content-type': 'application/json' };
    // fetch sets the host itself.
    const { host: _, ...headers } = await signedHeaders(url, { method, body, headers: json }, signing);
    return fetch(url, {
      method,
      headers,
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_MILLISECONDS),
      ...(body !== undefined && { body }),
    });
  };
  const sendUntilTaken = async (method: Method, path: string, body?: string): Promise<Response> => {
    for (let tries = 1; ; tries += 1) {
      const answer = await send(method, path, body).catch((error: unknown) => {
        const remedy = remedyOf(error, process.env);
        throw new Error(`the API of the ${title} gave no answer: ${remedy ?? String(error)}`, {
          cause: error,
        });
      });
      if (!LATER.includes(answer.status) || tries === TRIES) return answer;
      const asked = Number(answer.headers.get('retry-after') ?? Number.NaN);
      await answer.body?.cancel();
      await sleep(1000 * (asked > 0 ? asked : FIRST_WAIT_SECONDS * 2 ** (tries - 1)));
    }
  };
  return {
    call: async (schema, method, path, body) => {
      const text = typeof body === 'string' || body === undefined ? body : JSON.stringify(body);
      const answer = await sendUntilTaken(method, path, text);
      const content = parse(await answer.text());
      if (!answer.ok) throw refused(answer.status, content, `${method} ${path}`);
      return schema.parse(content);
    },
  };
}

function refused(status: number, content: unknown, call: string): Error {
  const read = refusal.safeParse(content);
  const { message, Message, problems = [] } = read.success ? read.data : {};
  const why = message ?? Message ?? `HTTP ${status}`;
  if (status === 403)
    return new NotAllowedError(
      `${call} is not allowed (${why}): allow execute-api:Invoke on it to these credentials (docs/api.md)`,
    );
  const details = problems.map((each) => `\n  ${each.path || '(whole document)'}: ${each.message}`).join('');
  return new ApiError(status, why + details);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
