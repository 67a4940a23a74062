// The informer of the official JavaScript client on a server that is restarted and crashed under it.

import assert from 'node:assert/strict';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';

import { AppsV1Api, CoreV1Api, KubeConfig, PatchStrategy, Watch, makeInformer, setHeaderOptions } from '@kubernetes/client-node';

const OBJECTS = 1_000;
const PAGE = 100;
const WORKERS = 8;
const TIMEOUT = 120_000;
const namespace = 'default';
const path = `/api/v1/namespaces/${namespace}/configmaps`;

const config = new KubeConfig();
config.loadFromClusterAndUser(
  { name: 'listwatch', server: process.env.LISTWATCH_SERVER, skipTLSVerify: true },
  { name: 'developer' },
);
const api = config.makeApiClient(CoreV1Api);
const answers = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

/** Asks the owner of the server to end it and start it again. */
async function ask(what) {
  console.log(what);
  assert.equal((await answers.next()).value, 'done');
}

const scenarios = {
  async 'an informer holds what a list says, through a restart and a crash'() {
    const follower = new Follower();
    const labelled = new Follower('parity=odd');
    await Promise.all([follower.start(), labelled.start()]);
    await inParallel(0, OBJECTS / 2, create);
    await ask('restart');
    await inParallel(OBJECTS / 2, OBJECTS, create);
    await ask('crash');
    await inParallel(0, OBJECTS / 10, (index) => patch(name(index * 10), { data: { changed: 'yes' } }));
    await inParallel(0, OBJECTS / 10, (index) => remove(name(index * 10 + 5)));
    await follower.until(() => list());
    await labelled.until(() => list('parity=odd'));
    assert.equal(follower.lists, 1, 'the informer listed again');
    assert.equal(follower.problem, undefined);
    await Promise.all([follower.stop(), labelled.stop()]);
  },

  async 'a watch carries versions that only grow'() {
    const start = await api.listNamespacedConfigMap({ namespace, limit: 1 });
    const versions = [Number(start.metadata.resourceVersion)];
    const ended = new Promise((resolve, reject) => {
      const take = (_, object) => versions.push(Number(object.metadata.resourceVersion));
      const query = { resourceVersion: start.metadata.resourceVersion, timeoutSeconds: 2 };
      new Watch(config).watch(path, query, take, (error) => (error ? reject(error) : resolve()));
    });
    for (let index = 0; index < 50; index++) {
      await create(OBJECTS + index);
    }
    await ended;
    assert.equal(versions.length, 51);
    assert.deepEqual(versions, [...new Set(versions)].sort((a, b) => a - b));
  },

  async 'pages of one list are one state'() {
    const whole = await list();
    const names = [];
    let version;
    let token;
    do {
      const page = await api.listNamespacedConfigMap({ namespace, limit: PAGE, _continue: token });
      version ??= page.metadata.resourceVersion;
      assert.equal(page.metadata.resourceVersion, version);
      names.push(...page.items.map((item) => item.metadata.name));
      token = page.metadata._continue;
      await create(2 * OBJECTS + names.length);
    } while (token);
    assert.deepEqual(names, [...whole.keys()]);
  },

  async 'a replaced object keeps its identity'() {
    const before = await api.readNamespacedConfigMap({ namespace, name: name(1) });
    before.data = { replaced: 'yes' };
    const after = await api.replaceNamespacedConfigMap({ namespace, name: name(1), body: before });
    assert.equal(after.metadata.uid, before.metadata.uid);
    assert.deepEqual(after.data, { replaced: 'yes' });
    await assert.rejects(
      api.replaceNamespacedConfigMap({ namespace, name: name(1), body: before }),
      (error) => error.code === 409,
    );
  },

  async 'typed objects of other groups are written and read'() {
    const apps = config.makeApiClient(AppsV1Api);
    const created = await apps.createNamespacedDeployment({ namespace, body: deployment() });
    assert.ok(created.metadata.uid && created.metadata.creationTimestamp instanceof Date);
    created.spec.template.spec.containers[0].image = 'example.com/app:2';
    const replaced = await apps.replaceNamespacedDeployment({ namespace, name: 'typed', body: created });
    assert.equal(replaced.metadata.generation, created.metadata.generation + 1);
    const scale = await apps.readNamespacedDeploymentScale({ namespace, name: 'typed' });
    scale.spec.replicas = 5;
    await apps.replaceNamespacedDeploymentScale({ namespace, name: 'typed', body: scale });
    const read = await apps.readNamespacedDeployment({ namespace, name: 'typed' });
    assert.equal(read.spec.replicas, 5);
    assert.equal(read.spec.template.spec.containers[0].image, 'example.com/app:2');
    read.status = { observedGeneration: read.metadata.generation };
    const seen = await apps.replaceNamespacedDeploymentStatus({ namespace, name: 'typed', body: read });
    assert.equal(seen.status.observedGeneration, read.metadata.generation);
    const body = { propagationPolicy: 'Background' };
    await apps.deleteNamespacedDeployment({ namespace, name: 'typed', body });
    await assert.rejects(
      apps.readNamespacedDeployment({ namespace, name: 'typed' }),
      (error) => error.code === 404,
    );
  },
};

function deployment() {
  const labels = { app: 'typed' };
  const resources = { requests: { cpu: '100m', memory: '64Mi' } };
  const containers = [{ name: 'main', image: 'example.com/app:1', ports: [{ containerPort: 80 }], resources }];
  const template = { metadata: { labels }, spec: { containers } };
  return { metadata: { name: 'typed', labels }, spec: { replicas: 2, selector: { matchLabels: labels }, template } };
}

/** The client's informer, taken up again when its connection breaks. */
class Follower {
  lists = 0;
  problem;

  constructor(labelSelector) {
    const list = () => {
      this.lists++;
      return api.listNamespacedConfigMap({ namespace, labelSelector });
    };
    this.informer = makeInformer(config, path, list, labelSelector);
    this.informer.on('update', (object) => this.newer(object));
    this.informer.on('error', () => setTimeout(() => this.stopped || this.informer.start(), 50));
    this.versions = new Map();
    this.informer.on('add', (object) => this.newer(object));
  }

  newer({ metadata }) {
    const before = this.versions.get(metadata.name) ?? 0;
    const now = Number(metadata.resourceVersion);
    if (now <= before) {
      this.problem = `${metadata.name} went from ${before} to ${now}`;
    }
    this.versions.set(metadata.name, now);
  }

  start() {
    return this.informer.start();
  }

  stop() {
    this.stopped = true;
    return this.informer.stop();
  }

  async until(list) {
    const expected = await list();
    const deadline = Date.now() + TIMEOUT;
    const held = () => byName(this.informer.list());
    while (!same(held(), expected)) {
      assert.ok(Date.now() < deadline, `${held().size} objects held, ${expected.size} listed`);
      await pause(50);
    }
    assert.deepEqual(held(), expected);
  }
}

async function list(labelSelector) {
  return byName((await api.listNamespacedConfigMap({ namespace, labelSelector })).items);
}

function byName(items) {
  const plain = items.map(({ metadata, data }) => [metadata.name, `${metadata.resourceVersion} ${JSON.stringify(data)}`]);
  return new Map(plain.sort(([a], [b]) => (a < b ? -1 : 1)));
}

function same(first, second) {
  return first.size === second.size && [...first].every(([key, value]) => second.get(key) === value);
}

async function create(index) {
  const metadata = { name: name(index), labels: { parity: index % 2 ? 'odd' : 'even' } };
  const body = { metadata, data: { index: String(index) } };
  await persist(() => api.createNamespacedConfigMap({ namespace, body }), 409);
}

async function patch(target, body) {
  const merge = setHeaderOptions('Content-Type', PatchStrategy.MergePatch);
  await persist(() => api.patchNamespacedConfigMap({ namespace, name: target, body }, merge));
}

async function remove(target) {
  await persist(() => api.deleteNamespacedConfigMap({ namespace, name: target }), 404);
}

/** Repeats a request while the server is away; `settled` is what a repetition may be told. */
async function persist(request, settled) {
  const deadline = Date.now() + TIMEOUT;
  for (;;) {
    try {
      return await request();
    } catch (error) {
      if (settled !== undefined && error.code === settled) {
        return undefined;
      }
      if (typeof error.code === 'number' || Date.now() > deadline) {
        throw error;
      }
      await pause(50);
    }
  }
}

async function inParallel(first, last, work) {
  let next = first;
  const worker = async () => {
    while (next < last) {
      await work(next++);
    }
  };
  await Promise.all(Array.from({ length: WORKERS }, worker));
}

function name(index) {
  return `config-${String(index).padStart(5, '0')}`;
}

for (const [title, scenario] of Object.entries(scenarios)) {
  const begun = Date.now();
  await scenario();
  console.log(`${title} (${((Date.now() - begun) / 1000).toFixed(1)} s)`);
}
process.exit(0);
