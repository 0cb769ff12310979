/** What a verb has of its surroundings: the terminal, the folder, and the deployment that its words name. */
import { once } from '../../functions/core/shared/once.ts';
import { type Api, apiOf } from './api.ts';
import { type Deployment, findDeployment, type Place } from './deployment.ts';
import type { Terminal } from './terminal.ts';

/** The process that a person started, as far as a verb may see it. */
export interface Surroundings {
  readonly terminal: Terminal;
  /** Where the person stands. */
  readonly folder: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The project's own folder; undefined where only the built file is there. */
  readonly clone: string | undefined;
}

export interface Context extends Surroundings {
  /** The person asked for JSON. */
  readonly json: boolean;
  readonly place: Place;
  /**
   * Found at the first call, and named on standard error.
   * @throws Error with a remedy where there is none
   */
  readonly deployment: () => Promise<Deployment>;
  readonly api: () => Promise<Api>;
}

export function contextOf(
  surroundings: Surroundings,
  { json = false, ...place }: Place & { readonly json?: boolean },
): Context {
  const deployment = once(async () => {
    const found = await findDeployment(surroundings, place);
    surroundings.terminal.note(found.title);
    return found;
  });
  return {
    ...surroundings,
    json,
    place,
    deployment,
    api: once(async () => apiOf(await deployment())),
  };
}
