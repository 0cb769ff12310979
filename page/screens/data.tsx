/** The screen "Data": generations and versions of a dataset, classes before and after, and what was rejected. */

import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { bytesText } from '../../client/amounts.ts';
import { Bars } from '../charts/bars.tsx';
import { pinnable, samplesOfGenerations } from '../model/pinnable.ts';
import { Disclosure } from '../parts/disclosure.tsx';
import { SendButton } from '../parts/send.tsx';
import { Numbers, numbers, Table } from '../parts/table.tsx';
import { Command, ProblemText, Time } from '../parts/text.tsx';
import { address, hrefOf, setQuery } from '../state/address.ts';
import { type AnswerOf, client, inWords } from '../state/api.ts';
import { useReading } from '../state/readings.ts';

const POLL_SECONDS = 15;
const EXAMPLES = 10;

type Dataset = AnswerOf<'getDataset'>;
type Generation = AnswerOf<'getGeneration'>;

export function DataScreen({ pipeline }: { readonly pipeline: string }) {
  const { body, refusal, again } = useReading('getDataset', { name: pipeline }, () => POLL_SECONDS);
  const chosen = address.value.query.get('generation') ?? body?.generations[0]?.name;
  return (
    <>
      <h1>{`Data of ${pipeline}`}</h1>
      <p>
        <a href={hrefOf(['pipelines', pipeline])}>its runs</a>
      </p>
      {body === undefined ? (
        refusal === undefined && <p>Reading the API…</p>
      ) : body.generations.length === 0 ? (
        <p>Nothing is sealed yet. Data that arrives below {pipeline}/incoming/ is packed by the next run.</p>
      ) : (
        <>
          <Generations dataset={body} chosen={chosen} />
          {chosen !== undefined && (
            <Pin
              key={`pin ${chosen}`}
              pipeline={pipeline}
              dataset={body}
              generation={chosen}
              onChange={again}
            />
          )}
          {chosen !== undefined && <Chosen key={chosen} pipeline={pipeline} generation={chosen} />}
          <Versions dataset={body} />
        </>
      )}
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
  <>
    <h2>Generations</h2>
    <Table
      caption="generations"
      columns={['generation', 'state', 'listed', ...numbers('samples', 'shards', 'bytes', 'rejected')]}
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
          {problem !== undefined && <ProblemText>{problem}</ProblemText>}
        </>,
        listedAt === undefined ? '' : <Time at={listedAt} />,
        samples?.toLocaleString() ?? '',
        shards ?? '',
        bytes === undefined ? '' : bytesText(bytes),
        rejected ?? '',
      ])}
    />
  </>
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
      <h2>{`First samples of ${generation}`}</h2>
      {body.samples.length === 0 ? (
        <p class="quiet">It holds no shard to look into.</p>
      ) : (
        <ul class="samples">
          {body.samples.map(({ shard, member, label }) => (
            <li key={member}>
              <Thumbnail {...at} shard={shard} member={member} />
              <span class="quiet">{label === undefined ? member : `${member}: ${label}`}</span>
            </li>
          ))}
        </ul>
      )}
      <Rejected at={at} generation={body} />
    </>
  );
}

/** Two bars a class: what came, and what the shards hold. */
function Classes({ classes }: Pick<Generation, 'classes'>) {
  if (classes.length === 0) return null;
  const bars = classes.flatMap(({ label, arrived, sealed }) => [
    { name: `${label}: ${arrived} arrived`, value: arrived, kind: 'pack' },
    { name: `${label}: ${sealed} in the shards`, value: sealed, kind: 'spot' },
  ]);
  return (
    <figure>
      <figcaption>
        <h2>Classes</h2>
        <span class="quiet">grey: as they arrived; green: in the shards</span>
      </figcaption>
      <Bars
        class="days"
        ends={[classes[0]?.label ?? '', classes.at(-1)?.label ?? '']}
        label={`samples of ${classes.length} classes before and after`}
        bars={bars}
      />
      <Numbers id="classes">
        {() => (
          <Table
            caption="classes"
            columns={['class', ...numbers('arrived', 'in the shards')]}
            rows={classes.map(({ label, arrived, sealed }) => [label, arrived, sealed])}
          />
        )}
      </Numbers>
    </figure>
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
    <>
      <h2>Rejected</h2>
      {reasons.map(([reason, count]) => (
        <section key={reason}>
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
    </>
  );
}

const Versions = ({ dataset: { versions } }: { readonly dataset: Dataset }) => (
  <>
    <h2>Versions</h2>
    <Table
      caption="versions"
      columns={[...numbers('version'), 'change', 'made of']}
      rows={versions.map(({ number, kind, changed, generations }) => [
        number,
        `${kind} ${changed.join(', ')}`,
        generations.join(', ') || 'nothing',
      ])}
    />
  </>
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
  if (generation === pinned)
    return (
      <Disclosure key="unpin" id="unpin" class="steering" summary={`Take the pin of ${generation} out`}>
        {() => (
          <>
            <p>{`Runs whose batch closes from now on train on all that is sealed then. ${AFTERWARDS}`}</p>
            <SendButton text="Take the pin out" call={() => send(null)} onDone={onChange} />
          </>
        )}
      </Disclosure>
    );
  if (version === undefined) return null;
  const samples = samplesOfGenerations(dataset, version.generations);
  const instead = pinned === undefined ? '' : ` instead of the version of ${pinned}`;
  return (
    <Disclosure key="pin" id="pin" class="steering" summary={`Pin the version of ${generation}`}>
      {() => (
        <>
          <p>
            {`Runs whose batch closes from now on train on version ${version.number}${instead}: ${samples.toLocaleString()} samples of ${version.generations.join(', ')}. New arrivals are packed, and train once the pin is taken out. ${AFTERWARDS}`}
          </p>
          <SendButton text="Pin" call={() => send(generation)} onDone={onChange} />
        </>
      )}
    </Disclosure>
  );
}
