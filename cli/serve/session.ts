/** What one `npm start` works with. */
import type { DeclaredLauncher } from '@tidewheel/declaration/launchers.ts';
import type { ApiClient } from '@tidewheel/emulators/region/api-client.ts';
import type { Region } from '@tidewheel/emulators/region/region.ts';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import type { Stores } from '../../functions/records/stores.ts';
import type { Screen } from '../show/screen.ts';

export interface Session {
  readonly region: Region;
  readonly api: ApiClient;
  /** Read without the API: a look takes no slot of the account's concurrent executions. */
  readonly stores: Pick<Stores, 'pipelines' | 'runs' | 'attempts' | 'timeline'>;
  readonly store: ObjectStore;
  readonly screen: Screen;
  readonly projectFolder: string;
  readonly stateDirectory: string;
  readonly launcher: DeclaredLauncher;
  readonly signal: AbortSignal;
}
