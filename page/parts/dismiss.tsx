/** A failure that is known needs no person any more. */
import { client, inWords } from '../state/api.ts';
import { SendButton } from './controls.tsx';

type Failed = Readonly<{ runId: string; status: string; acknowledgement?: object | undefined }>;

export const Dismiss = ({
  run: { runId, status, acknowledgement },
  onDone,
}: Readonly<{ run: Failed; onDone: () => void }>) =>
  status !== 'failed' || acknowledgement !== undefined ? null : (
    <SendButton
      text="Dismiss"
      call={async () => inWords(await client.call('acknowledgeRun', { runId }))}
      onDone={onDone}
    />
  );
