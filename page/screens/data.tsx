/** The screen "Data": generations and versions of a dataset, classes before and after, and what was rejected. */

import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { bytesText } from '../../client/amounts.ts';
import { Bars } from '../charts/bars.tsx';
import { pinnable, samplesOfGenerations } from '../model/pinnable.ts';
import { Empty, Head, Read, Section } from '../parts/card.tsx';
import { Action, SendButton } from '../parts/controls.tsx';
import { numbers, Table, wide } from '../parts/table.tsx';
import { Command, PipelineTabs, Time } from '../parts/text.tsx';
import { address, setQuery } from '../state/address.ts';
import { type AnswerOf, client, inWords } from '../state/api.ts';
import { useReading } from '../state/readings.ts';

const POLL_SECONDS = 15;
const EXAMPLES = 10;

type Dataset = AnswerOf<'getDataset'>;
type Generation = AnswerOf<'getGeneration'>;

export function DataScreen({ pipeline }: { readonly pipeline: string }) {
  const dataset = useReading('getDataset', { name: pipeline }, () => POLL_SECONDS);
  const chosen = address.value.query.get('generation') ?? dataset.body?.generations[0]?.name;
  return (
    <>
      <Head title={pipeline}>
        {chosen !== undefined && dataset.body !== undefined && (
          <Pin
            key={`pin ${chosen}`}
            pipeline={pipeline}
            dataset={dataset.body}
            generation={chosen}
            onChange={dataset.again}
          />
        )}
      </Head>
      <PipelineTabs pipeline={pipeline} />
      <Read of={dataset}>
        {(body) =>
          body.generations.length === 0 ? (
            <Empty>
              Nothing is sealed yet. Data that arrives below {pipeline}/incoming/ is packed by the next run.
            </Empty>
          ) : (
            <>
              <Generations dataset={body} chosen={chosen} />
              {chosen !== undefined && <Chosen key={chosen} pipeline={pipeline} generation={chosen} />}
              <Versions dataset={body} />
            </>
          )
        }
      </Read>
      <Command text={`npx tidewheel data list ${pipeline}`} />
      {chosen !== undefined && <Command text={`npx tidewheel data pin ${pipeline} ${chosen}`} />}
    </>
  );
}

interface GenerationsProps {
  readonly dataset: Dataset;
  readonly chosen: string | undefined;
}

const Generations = ({ dataset: { generations, pinned }, chosen }: GenerationsProps) => (
  <Section title="Generations">
    <Table
      caption="generations"
      columns={[
        'generation',
        'state',
        ...wide('listed'),
        ...numbers('samples', 'shards', 'bytes', 'rejected'),
      ]}
      chosen={generations.findIndex(({ name }) => name === chosen)}
      rows={generations.map(({ name, state, problem, listedAt, samples, shards, bytes, rejected }) => [
        <button
          type="button"
          class="link"
          aria-pressed={name === chosen}
          onClick={() => setQuery({ generation: name })}
          data-row
        >
          {name}
        </button>,
        <>
          {name === pinned ? `${state}, pinned` : state}
          {problem !== undefined && <p class="problem">{problem}</p>}
        </>,
        listedAt === undefined ? '' : <Time at={listedAt} />,
        samples?.toLocaleString() ?? '',
        shards ?? '',
        bytes === undefined ? '' : bytesText(bytes),
        rejected ?? '',
      ])}
    />
  </Section>
);

interface ChosenProps {
  readonly pipeline: string;
  readonly generation: string;
}

function Chosen({ pipeline, generation }: ChosenProps) {
  const { body } = useReading('getGeneration', { name: pipeline, generation }, () => undefined);
  if (body === undefined) return null;
  const at = { pipeline, generation };
  return (
    <>
      <Classes classes={body.classes} />
      <Section title={`First samples of ${generation}`}>
        {body.samples.length === 0 ? (
          <Empty>It holds no shard to look into.</Empty>
        ) : (
          <ul class="card pad samples">
            {body.samples.map(({ shard, member, label }) => (
              <li key={member}>
                <Thumbnail {...at} shard={shard} member={member} />
                <span class="quiet">{label === undefined ? member : `${member}: ${label}`}</span>
              </li>
            ))}
          </ul>
        )}
      </Section>
      <Rejected at={at} generation={body} />
    </>
  );
}

/** Two bars a class: what came, and what the shards hold. */
function Classes({ classes }: Pick<Generation, 'classes'>) {
  if (classes.length === 0) return null;
  const bars = classes.flatMap(({ label, arrived, sealed }) => [
    { name: `${label}: ${arrived} arrived`, value: arrived, kind: 'is-arrived' },
    { name: `${label}: ${sealed} in the shards`, value: sealed, kind: 'is-spot' },
  ]);
  return (
    <Section
      title="Classes"
      note="grey: as they arrived; green: in the shards"
      tools={
        <Action text="As a table" title="Classes">
          {() => (
            <Table
              caption="classes"
              columns={['class', ...numbers('arrived', 'in the shards')]}
              rows={classes.map(({ label, arrived, sealed }) => [label, arrived, sealed])}
            />
          )}
        </Action>
      }
    >
      <figure class="card pad">
        <Bars
          class="bars"
          ends={[classes[0]?.label ?? '', classes.at(-1)?.label ?? '']}
          label={`samples of ${classes.length} classes before and after`}
          bars={bars}
        />
      </figure>
    </Section>
  );
}

interface RejectedProps {
  readonly at: ChosenProps;
  readonly generation: Generation;
}

function Rejected({ at, generation: { rejected, rejectedByReason } }: RejectedProps) {
  const reasons = Object.entries(rejectedByReason);
  if (reasons.length === 0) return <p class="quiet">It rejected nothing.</p>;
  return (
    <Section title="Rejected">
      {reasons.map(([reason, count]) => (
        <section key={reason} class="card pad stack">
          <h3>{`${reason}: ${count}`}</h3>
          <ul class="samples">
            {rejected
              .filter((each) => each.reason === reason)
              .slice(0, EXAMPLES)
              .map(({ key }) => (
                <li key={key}>
                  <Thumbnail {...at} rejected={key} />
                  <span class="quiet">{key}</span>
                </li>
              ))}
          </ul>
        </section>
      ))}
    </Section>
  );
}

const Versions = ({ dataset: { versions } }: { readonly dataset: Dataset }) => (
  <Section title="Versions">
    <Table
      caption="versions"
      columns={[...numbers('version'), 'change', 'made of']}
      rows={versions.map(({ number, kind, changed, generations }) => [
        number,
        `${kind} ${changed.join(', ')}`,
        generations.join(', ') || 'nothing',
      ])}
    />
  </Section>
);

/** Others are not read. */
const IMAGE = /\.(png|jpe?g|gif|webp)$/i;

interface ThumbnailProps {
  readonly pipeline: string;
  readonly generation: string;
  readonly shard?: string;
  readonly member?: string;
  /** Key of a rejected object, instead of shard and member. */
  readonly rejected?: string;
}

/** A small image of the dataset, read when it comes into view. The API sniffs its type; the browser gets nothing else. */
function Thumbnail({ pipeline, generation, shard, member, rejected }: ThumbnailProps) {
  const isImage = IMAGE.test(member ?? rejected ?? '');
  const place = useRef<HTMLDivElement>(null);
  const image = useSignal<string | undefined>(undefined);
  const problem = useSignal<string | undefined>(undefined);
  useEffect(() => {
    const frame = place.current;
    if (frame === null || !isImage) return undefined;
    const seen = new IntersectionObserver(([entry]) => {
      if (entry?.isIntersecting !== true) return;
      seen.disconnect();
      void client.call('getImage', { name: pipeline, generation, shard, member, rejected }).then((answer) => {
        if (answer.kind === 'ok') image.value = `data:${answer.body.type};base64,${answer.body.base64}`;
        else problem.value = answer.kind === 'refused' ? answer.message : 'the API gives no answer';
      });
    });
    seen.observe(frame);
    return () => seen.disconnect();
  }, [pipeline, generation, shard, member, rejected]);
  return (
    <div class="thumbnail" ref={place} title={problem.value}>
      {image.value === undefined ? (
        <span aria-hidden="true">{isImage && problem.value === undefined ? '…' : 'no image'}</span>
      ) : (
        <img src={image.value} alt="" />
      )}
    </div>
  );
}

// Pins the version of a dataset that a generation ended, or takes the pin out, with what runs then train on.

interface PinProps {
  readonly pipeline: string;
  readonly dataset: AnswerOf<'getDataset'>;
  readonly generation: string;
  /** Reads the dataset again. */
  readonly onChange: () => void;
}

const AFTERWARDS =
  'Open runs go on as they are. The declaration in the bucket changes: a later drop or apply of a file that says otherwise changes it back.';

/** Keys: what one of them has opened, the other does not show, or a second press would undo the first. */
function Pin({ pipeline, dataset, generation, onChange }: PinProps) {
  const { pinned } = dataset;
  const version = pinnable(dataset, generation);
  const send = async (given: string | null) =>
    inWords(await client.call('putPin', { name: pipeline, body: { generation: given } }));
  const done = (close: () => void) => (): void => {
    close();
    onChange();
  };
  if (generation === pinned)
    return (
      <Action key="unpin" text="Unpin…" title={`Take the pin of ${generation} out`}>
        {(close) => (
          <>
            <p>{`Runs whose batch closes from now on train on all that is sealed then. ${AFTERWARDS}`}</p>
            <SendButton text="Take the pin out" kind="primary" call={() => send(null)} onDone={done(close)} />
          </>
        )}
      </Action>
    );
  if (version === undefined) return null;
  const samples = samplesOfGenerations(dataset, version.generations);
  const instead = pinned === undefined ? '' : ` instead of the version of ${pinned}`;
  return (
    <Action key="pin" text="Pin…" title={`Pin the version of ${generation}`}>
      {(close) => (
        <>
          <p>
            {`Runs whose batch closes from now on train on version ${version.number}${instead}: ${samples.toLocaleString()} samples of ${version.generations.join(', ')}. New arrivals are packed, and train once the pin is taken out. ${AFTERWARDS}`}
          </p>
          <SendButton text="Pin" kind="primary" call={() => send(generation)} onDone={done(close)} />
        </>
      )}
    </Action>
  );
}
