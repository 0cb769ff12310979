/** Refusals of every route: of callers without the role, and of what AWS does not answer. */

import { UnreadableRecordError } from '@tidewheel/kit/errors.ts';
import { awsErrorClass } from '../../records/aws-error-class.ts';
import { type ApiRequest, type ApiResponse, problem } from './answers.ts';
import { may, type PeopleRoles, type Role, roleInToken } from './people.ts';

/** The SDK has waited and tried again before it reports a throttle. */
const RETRY_AFTER_SECONDS = 2;

/** Every call is idempotent, so the same call is the remedy. */
const throttled: ApiResponse = {
  ...problem(429, `AWS throttles the service: make the same call again in ${RETRY_AFTER_SECONDS} s`),
  headers: { 'retry-after': String(RETRY_AFTER_SECONDS) },
};

export async function whileAwsAnswers(respond: () => Promise<ApiResponse>): Promise<ApiResponse> {
  try {
    return await respond();
  } catch (error: unknown) {
    if (error instanceof UnreadableRecordError) return problem(409, error.message);
    if (awsErrorClass(error) === 'throttle') return throttled;
    throw error;
  }
}

/** @returns undefined for a caller who may */
export function roleRefusal(
  { people }: { readonly people: PeopleRoles },
  { claims }: ApiRequest,
  needed: Role,
): ApiResponse | undefined {
  const role = claims === undefined ? 'operator' : roleInToken(claims, people);
  if (may(role, needed)) return undefined;
  const has = role === undefined ? 'none' : `the role ${role}`;
  return problem(
    403,
    `this needs the role ${needed}, and your token has ${has}: docs/deploy.md#people says what gives it`,
  );
}
