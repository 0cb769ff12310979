/** Serves the page on this machine until Ctrl-C, from `tidewheel page` and the verbs' `--web`. */

import { once } from 'node:events';
import { defaultProvider } from '@aws-sdk/credential-provider-node';
import { UsageError } from '@tidewheel/kit/command-line.ts';
import type { ChosenDeployment } from '../deployment/chosen-deployment.ts';
import { buildPage } from '../page/page-files.ts';
import { servePage } from '../page/page-server.ts';
import type { DeploymentName } from './deployment.ts';
import type { Terminal } from './terminal.ts';
import { placeWords } from './typed.ts';

interface Served {
  readonly terminal: Pick<Terminal, 'print'>;
  readonly json: boolean;
  readonly folder: string;
  readonly place: DeploymentName;
  readonly deployment: () => Promise<Pick<ChosenDeployment, 'apiUrl' | 'region' | 'title'>>;
}

interface ScreenChoice {
  /** Behind the `#` of its address, such as `/runs/digits-000042`; absent: the screen Now. */
  readonly screen?: string;
  readonly port?: number | undefined;
}

/** @returns the exit code */
export async function serveScreen(
  { terminal, json, deployment, folder, place }: Served,
  { screen, port }: ScreenChoice = {},
): Promise<number> {
  const { apiUrl, region, title } = await deployment();
  const deps = {
    files: await buildPage(),
    apiUrl,
    region,
    credentials: defaultProvider(),
    place: placeWords(place, folder),
  };
  const page = await servePage(deps, port).catch((error: unknown) => {
    const isTaken = error instanceof Error && Reflect.get(error, 'code') === 'EADDRINUSE';
    throw isTaken ? new UsageError([`--port is "${port}", which is taken: name another one`]) : error;
  });
  const address = screen === undefined ? page.address : `${page.address}#${screen}`;
  if (json) terminal.print(JSON.stringify({ address }));
  else terminal.print(`${address}\n  shows the ${title} (Ctrl-C ends it)`);
  await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
  page.close();
  return 0;
}
