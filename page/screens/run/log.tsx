/** The tab "Log": all hosts and attempts as one stream, with marks where an attempt began and where it ended. */
import { Command, Time } from '../../parts/text.tsx';
import { VirtualTable } from '../../parts/virtual-table.tsx';
import { address, setQuery } from '../../state/address.ts';
import { useLog } from '../../state/log.ts';

export function Log({ runId, since }: { readonly runId: string; readonly since: string }) {
  const { entries, leftOut, isKnown } = useLog(runId);
  const wanted = address.value.query.get('find') ?? '';
  const shown = wanted === '' ? entries : entries.filter(({ text }) => text.includes(wanted));
  const row = (place: number) => {
    const entry = shown[place];
    if (entry === undefined) return [];
    const text = withoutControl(entry.text);
    const words = entry.kind === 'line' ? <code title={text}>{text}</code> : <strong>{text}</strong>;
    return [
      <Time at={entry.at} since={since} />,
      entry.attempt,
      entry.kind === 'line' ? entry.host : '',
      words,
    ];
  };
  return (
    <>
      <p class="tools">
        <label>
          find{' '}
          <input
            id="find"
            type="search"
            value={wanted}
            onInput={({ currentTarget }) => setQuery({ find: currentTarget.value })}
          />
        </label>
        <span class="quiet">
          {`${shown.length} of ${entries.length} lines${leftOut > 0 ? `; the ${leftOut} before them are not held here` : ''}`}
        </span>
      </p>
      {isKnown && entries.length === 0 && (
        <p class="quiet">No attempt has begun yet: the log begins with the first one.</p>
      )}
      <VirtualTable
        caption={`log of ${runId}`}
        columns={['time', 'attempt', 'host', 'line']}
        count={shown.length}
        row={row}
        kind="log"
      />
      <Command text={`npx tidewheel logs ${runId} --follow`} />
    </>
  );
}

/** Colours and cursor movements of a terminal, and characters that turn the direction of writing. */
const withoutControl = (text: string): string =>
  text.replace(/\p{Cc}\[[\d;?]*[A-Za-z]/gu, '').replace(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, ' ');
