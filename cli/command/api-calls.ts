/** Calls of the HTTP API, signed with the person's credentials of AWS, or with a token of the deployment's issuer. */

import { setTimeout as sleep } from 'node:timers/promises';
import { defaultProvider } from '@aws-sdk/credential-provider-node';
import { messageOf } from '@tidewheel/kit/errors.ts';
import { signedFetch } from '@tidewheel/kit/signed-headers.ts';
import {
  type ApiRefusal,
  createClient,
  type Input,
  type OperationId,
  type SendCall,
} from '../../client/client.ts';
import type { Operations } from '../../client/operations.ts';
import type { ChosenDeployment } from '../deployment/chosen-deployment.ts';
import { networkRemedy } from '../deployment/surroundings.ts';
import { NotAllowedError } from './exit.ts';

/** An answer that says no, in the API's own words. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** No answer came. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError';
}

/** Whether the same call may succeed later. */
export const isPassing = (error: unknown): error is UnreachableError | ApiError =>
  error instanceof UnreachableError || (error instanceof ApiError && LATER.includes(error.status));

export interface Api {
  /** @throws ApiError where the answer is no @throws NotAllowedError where it is 403 @throws UnreachableError */
  call<Id extends OperationId>(operation: Id, input: Input<Id>): Promise<Operations[Id]['answer']>;
}

const TIMEOUT_MILLISECONDS = 30_000;
/** Every call may be repeated (docs/api.md). */
const TRIES = 6;
const FIRST_WAIT_SECONDS = 1;
const LATER = [429, 500, 502, 503, 504];

/** @param headers of each call, beside its own */
export const apiOf = (
  deployment: Pick<ChosenDeployment, 'apiUrl' | 'region' | 'title'>,
  headers: Headers = {},
): Api => apiOver(withHeaders(signedSend(deployment), headers), deployment.title);

/** Where a person without credentials of AWS calls, and with what (docs/deploy.md#people). */
export interface TokenAccess {
  /** Without a slash at its end. */
  readonly apiUrl: string;
  readonly token: string;
}

export const apiWithToken = (access: TokenAccess, headers: Headers = {}): Api =>
  apiOver(withHeaders(tokenSend(access), headers), `deployment at ${access.apiUrl}`);

type Headers = Readonly<Record<string, string>>;

const withHeaders =
  (send: SendCall, more: Headers): SendCall =>
  (call) =>
    send({ ...call, headers: { ...call.headers, ...more } });

function apiOver(send: SendCall, title: string): Api {
  const client = createClient(untilTaken(send));
  return {
    call: async (operation, input) => {
      const answer = await client.call(operation, input);
      switch (answer.kind) {
        case 'ok':
          return answer.body;
        case 'refused':
          throw refused(answer, operation);
        case 'unchanged':
          throw new Error(`the API answered 304 to ${operation}, which asked for no change`);
        case 'unreachable': {
          const remedy = networkRemedy(answer.cause, process.env);
          const why = remedy ?? messageOf(answer.cause);
          throw new UnreachableError(`the API of the ${title} gave no answer: ${why}`, {
            cause: answer.cause,
          });
        }
      }
    },
  };
}

function signedSend({ apiUrl, region }: Pick<ChosenDeployment, 'apiUrl' | 'region'>): SendCall {
  const signing = { service: 'execute-api', region, credentials: defaultProvider() };
  return ({ path, ...call }) => signedFetch(new URL(`${apiUrl}${path}`), call, signing, sending());
}

const tokenSend =
  ({ apiUrl, token }: TokenAccess): SendCall =>
  ({ method, path, headers, body }) =>
    fetch(`${apiUrl}${path}`, {
      ...sending(),
      method,
      headers: { ...headers, authorization: `Bearer ${token}` },
      ...(body !== undefined && { body }),
    });

const sending = (): RequestInit => ({
  redirect: 'error',
  signal: AbortSignal.timeout(TIMEOUT_MILLISECONDS),
});

const untilTaken =
  (send: SendCall): SendCall =>
  async (call) => {
    for (let tries = 1; ; tries += 1) {
      const answer = await send(call);
      if (!LATER.includes(answer.status) || tries === TRIES) return answer;
      await answer.text();
      const asked = Number(answer.headers.get('retry-after') ?? '');
      await sleep(1000 * (asked > 0 ? asked : FIRST_WAIT_SECONDS * 2 ** (tries - 1)));
    }
  };

function refused({ status, message, problems }: ApiRefusal, operation: OperationId): Error {
  if (status === 401)
    return new NotAllowedError(
      'the token is not taken: it has expired, or is of another issuer or client. Set TIDEWHEEL_TOKEN to a new one',
    );
  if (status === 403)
    return new NotAllowedError(
      message.includes('your token')
        ? `${operation} is not allowed: ${message}`
        : `${operation} is not allowed (${message}): allow execute-api:Invoke on it to these credentials (docs/api.md)`,
    );
  const details = problems.map((each) => `\n  ${each.path || '(whole document)'}: ${each.message}`);
  return new ApiError(status, message + details.join(''));
}
