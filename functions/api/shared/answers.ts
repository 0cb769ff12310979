/** What every answer of the API is made of. */

import type { Problem } from '@tidewheel/kit/errors.ts';
import { list, problemSchema } from '@tidewheel/kit/fields.ts';
import * as z from 'zod';
import type { Claims } from './people.ts';

export interface ApiRequest {
  /** Method and path template, such as `PUT /pipelines/{name}`. */
  readonly route: string;
  readonly parameters: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly body: string;
  /** Who it is: the ARN of the IAM identity that signed the request, or the name in a person's token. */
  readonly caller?: string | undefined;
  /** Of a person's token. Absent: IAM has let the caller pass. */
  readonly claims?: Claims | undefined;
  /** By their names in lower case. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

export interface ApiResponse<Body = unknown> {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: Body;
}

export const refusalSchema = z.object({
  message: z.string().describe('What is wrong, and what to do.'),
  problems: list(problemSchema).optional(),
});

export type Refusal = ApiResponse<z.input<typeof refusalSchema>>;

export const ok = <Body>(body: Body): ApiResponse<Body> => ({ status: 200, body });
export const accepted = <Body>(body: Body): ApiResponse<Body> => ({ status: 202, body });

export const problem = (status: number, message: string, problems?: readonly Problem[]): Refusal => ({
  status,
  body: { message, ...(problems && { problems }) },
});

/** @param what such as `the query is not valid` */
export const refused = (what: string, problems: readonly Problem[]): Refusal =>
  problem(400, `${what}: ${problems.map(sentence).join('; ')}`, problems);

const sentence = ({ path, message }: Problem): string => (path === '' ? message : `${path} ${message}`);

export const noRun = (runId: string): Refusal =>
  problem(404, `there is no run "${runId}": GET /pipelines/{name}/runs lists the runs of a pipeline`);

/** @param problems of the declaration as it is stored */
export const invalidStored = (name: string, problems?: readonly Problem[]): Refusal =>
  problem(
    409,
    `the stored declaration of "${name}" is not valid: correct it with PUT /pipelines/${name}`,
    problems,
  );

export const noPipeline = (name: string): Refusal =>
  problem(404, `there is no pipeline "${name}": declare it with PUT /pipelines/${name}`);
