/** A SageMaker for one machine: speaks AWS's protocol and really runs the training jobs. */
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { tokenBuckets } from '../limits/token-bucket.ts';
import { lockFolder } from '../shared/folder-lock.ts';
import { openTemporaryFolder } from '../shared/temporary-folder.ts';
import { makeHttpServer } from './api/http.ts';
import { runOperation } from './api/operations.ts';
import { makeAddressBook } from './hosts/addresses.ts';
import { makeLineScanner } from './hosts/metrics.ts';
import { makeEventSender } from './jobs/events.ts';
import { openRegistry } from './jobs/registry.ts';
import { destroyClients, makeClients } from './model/clients.ts';
import { throttled } from './model/errors.ts';
import { openJobStore } from './model/job-store.ts';
import { type LocalSageMakerOptions, settingsOf } from './model/options.ts';

export type { LocalSageMakerOptions } from './model/options.ts';

const LAST_EVENTS_MS = 3_000;

export interface LocalSageMaker {
  /** For AWS_ENDPOINT_URL_SAGEMAKER. */
  readonly url: string;
  /** Ends all hosts (after a few seconds to save), then the server. Jobs under way are Failed at the next start. */
  close(): Promise<void>;
}

export async function startLocalSageMaker(options: LocalSageMakerOptions): Promise<LocalSageMaker> {
  const given = settingsOf(options);
  const settings = {
    ...given,
    stateDirectory: resolve(given.stateDirectory),
    environmentsDirectory: resolve(given.environmentsDirectory),
  };
  await mkdir(settings.stateDirectory, { recursive: true });
  const unlockState = await lockFolder(settings.stateDirectory, 'local SageMaker');
  const temporary = await openTemporaryFolder(settings.stateDirectory);
  const clients = makeClients(settings);
  const services = {
    settings,
    clients,
    store: await openJobStore(settings.stateDirectory),
    events: makeEventSender(clients.events, settings),
    addresses: makeAddressBook(Math.random),
    scanner: makeLineScanner(),
    temporaryDirectory: temporary.path,
  };
  const registry = await openRegistry(services);
  const context = {
    registry,
    abilities: { canServeFileSystems: settings.fileSystemsDirectory !== undefined },
    timeScale: settings.timeScale,
    clock: settings.clock,
  };
  const { operationRate } = options;
  const mayPass = operationRate && tokenBuckets(operationRate, () => settings.clock.now());
  const server = makeHttpServer({
    dispatch: async (operation, body) => {
      if (mayPass?.(operation) === false) throw throttled();
      return runOperation(operation, body, context);
    },
    credentials: settings.credentials,
    log: settings.log,
  });
  server.listen(settings.port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch (error) {
    unlockState();
    throw error;
  }
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : settings.port;
  return {
    url: `http://127.0.0.1:${port}`,
    close: async () => {
      server.close();
      server.closeAllConnections();
      await registry.close();
      // An emulator that has gone before us takes no events any more.
      await Promise.race([services.events.flush(), delay(LAST_EVENTS_MS, undefined, { ref: false })]);
      await services.scanner.close();
      destroyClients(clients);
      await temporary.close();
      unlockState();
    },
  };
}
