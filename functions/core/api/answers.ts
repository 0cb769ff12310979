/** What every answer of the API is made of. */
import type { Problem } from '../shared/errors.ts';

export interface ApiRequest {
  /** Method and path template, such as `PUT /pipelines/{name}`. */
  readonly route: string;
  readonly parameters: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly body: string;
  /** ARN of the IAM identity that signed the request. */
  readonly caller?: string | undefined;
}

export interface ApiResponse {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: unknown;
}

export const ok = (body: unknown): ApiResponse => ({ status: 200, body });

export const problem = (status: number, message: string, problems?: readonly Problem[]): ApiResponse => ({
  status,
  body: { message, ...(problems && { problems }) },
});

export const noRun = (runId: string): ApiResponse =>
  problem(404, `there is no run "${runId}": GET /pipelines/{name}/runs lists the runs of a pipeline`);
