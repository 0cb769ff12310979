/** The screen "Data": generations and versions of a dataset, classes before and after, and what was rejected. */

import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { bytesText } from '../../client/amounts.ts';
import { BarsCard } from '../charts/bars-card.tsx';
import { pinnable, samplesOfGenerations } from '../model/pinnable.ts';
import { Empty, Head, Read, Section } from '../parts/card.tsx';
import { DialogButton, SendButton } from '../parts/controls.tsx';
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

const Generations = ({
  dataset: { generations, pinned },
  chosen,
}: Readonly<{ dataset: Dataset; chosen: string | undefined }>) => (
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

type ChosenProps = Readonly<{ pipeline: string; generation: string }>;

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
const Classes = ({ classes }: Pick<Generation, 'classes'>) =>
  classes.length === 0 ? null : (
    <BarsCard
      title="Classes"
      note="grey: as they arrived; green: in the shards"
      ends={[classes[0]?.label ?? '', classes.at(-1)?.label ?? '']}
      label={`samples of ${classes.length} classes before and after`}
      bars={classes.flatMap(({ label, arrived, sealed }) => [
        { name: `${label}: ${arrived} arrived`, value: arrived, kind: 'is-arrived' },
        { name: `${label}: ${sealed} in the shards`, value: sealed, kind: 'is-spot' },
      ])}
      columns={['class', ...numbers('arrived', 'in the shards')]}
      rows={classes.map(({ label, arrived, sealed }) => [label, arrived, sealed])}
    />
  );

function Rejected({
  at,
  generation: { rejected, rejectedByReason },
}: Readonly<{ at: ChosenProps; generation: Generation }>) {
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

/** Of a sample in a shard, or of a rejected object by its key. */
type ThumbnailProps = ChosenProps & Readonly<{ shard?: string; member?: string; rejected?: string }>;

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

const AFTERWARDS =
  'Open runs go on as they are. The declaration in the bucket changes: a later drop or apply of a file that says otherwise changes it back.';

function Pin({
  pipeline,
  dataset,
  generation,
  onChange,
}: ChosenProps & Readonly<{ dataset: Dataset; onChange: () => void }>) {
  const { pinned } = dataset;
  const isPinned = generation === pinned;
  const version = pinnable(dataset, generation);
  if (!isPinned && version === undefined) return null;
  const call = async () =>
    inWords(
      await client.call('putPin', { name: pipeline, body: { generation: isPinned ? null : generation } }),
    );
  const { number, generations = [] } = version ?? {};
  const samples = samplesOfGenerations(dataset, generations).toLocaleString();
  const instead = pinned === undefined ? '' : ` instead of the version of ${pinned}`;
  const what = isPinned
    ? 'on all that is sealed then.'
    : `on version ${number}${instead}: ${samples} samples of ${generations.join(', ')}. New arrivals are packed, and train once the pin is taken out.`;
  return (
    <DialogButton
      key={String(isPinned)}
      text={isPinned ? 'Unpin…' : 'Pin…'}
      title={isPinned ? `Take the pin of ${generation} out` : `Pin the version of ${generation}`}
    >
      {(close) => (
        <>
          <p>{`Runs whose batch closes from now on train ${what} ${AFTERWARDS}`}</p>
          <SendButton
            text={isPinned ? 'Take the pin out' : 'Pin'}
            kind="primary"
            call={call}
            onDone={() => {
              close();
              onChange();
            }}
          />
        </>
      )}
    </DialogButton>
  );
}
