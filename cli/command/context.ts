/** What a verb has of its surroundings: the terminal, the folder, and the deployment that its words name. */

import { UsageError } from '@tidewheel/kit/command-line.ts';
import { once } from '@tidewheel/kit/once.ts';
import * as z from 'zod';
import type { ChosenDeployment } from '../deployment/chosen-deployment.ts';
import { type Api, apiOf, apiWithToken, type TokenAccess } from './api-calls.ts';
import { type DeploymentName, findDeployment } from './deployment.ts';
import { EXIT } from './exit.ts';
import type { Terminal } from './terminal.ts';

/** The process that a person started, as far as a verb may see it. */
export interface Surroundings {
  readonly terminal: Terminal;
  /** Where the person stands. */
  readonly folder: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The project's own folder; undefined where only the built file is there. */
  readonly clone: string | undefined;
  /** Sent with each call of the API. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Context extends Surroundings {
  /** The person asked for JSON. */
  readonly json: boolean;
  /**
   * Prints the document for JSON, else the text for a person.
   * @returns the exit code of a command that did what was requested
   */
  readonly answer: (document: unknown, text: () => string) => number;
  readonly place: DeploymentName;
  /**
   * Found at the first call, and named on standard error.
   * @throws Error with a remedy where there is none
   */
  readonly deployment: () => Promise<ChosenDeployment>;
  readonly api: () => Promise<Api>;
}

export function contextOf(
  surroundings: Surroundings,
  { json = false, ...place }: DeploymentName & { readonly json?: boolean },
): Context {
  const deployment = once(async () => {
    const found = await findDeployment(surroundings, place);
    surroundings.terminal.note(found.title);
    return found;
  });
  return {
    ...surroundings,
    json,
    answer: (document, text) => {
      surroundings.terminal.print(json ? JSON.stringify(document, null, 2) : text());
      return EXIT.ok;
    },
    place,
    deployment,
    api: once(async () => {
      const access = isNamed(place) ? undefined : tokenAccess(surroundings.environment);
      if (access === undefined)
        return naming(apiOf(await deployment(), surroundings.headers), surroundings.terminal);
      surroundings.terminal.note(`deployment at ${access.apiUrl}, with the token in TIDEWHEEL_TOKEN`);
      return naming(apiWithToken(access, surroundings.headers), surroundings.terminal);
    }),
  };
}

const withLeftOut = z.object({ unreadable: z.array(z.string()) });

/** Names once what lists have left out, because the service cannot read it. */
function naming(api: Api, { problem }: Terminal): Api {
  const named = new Set<string>();
  return {
    call: async (operation, input) => {
      const answer = await api.call(operation, input);
      for (const why of withLeftOut.safeParse(answer).data?.unreadable ?? [])
        if (named.size < named.add(why).size) problem(`left out: ${why}`);
      return answer;
    },
  };
}

const isNamed = ({ stage, region, state }: DeploymentName): boolean =>
  [stage, region, state].some((word) => word !== undefined);

/** @throws UsageError where one of the two variables is missing, or the token would travel in the open */
function tokenAccess(environment: Surroundings['environment']): TokenAccess | undefined {
  const { TIDEWHEEL_API_URL: url = '', TIDEWHEEL_TOKEN: token = '' } = environment;
  if (url === '' && token === '') return undefined;
  if (url === '' || token === '')
    throw new UsageError([
      `${url === '' ? 'TIDEWHEEL_TOKEN is set without TIDEWHEEL_API_URL' : 'TIDEWHEEL_API_URL is set without TIDEWHEEL_TOKEN'}: set both (docs/deploy.md#people), or neither`,
    ]);
  if (!/^(https:\/\/|http:\/\/127\.0\.0\.1[:/])/.test(url))
    throw new UsageError([`TIDEWHEEL_API_URL is ${url}: write https://, so that the token stays secret`]);
  return { apiUrl: url.replace(/\/+$/, ''), token };
}
