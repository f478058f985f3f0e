// Every word of the page in its languages. What a hub says (reasons, messages) stays as the hub says it.

const EN = {
  skip: "Skip to the jobs",
  live: "Live", loading: "Loading", reconnecting: "Connection lost, trying again", stale: "The hub does not answer",
  needLink: "This page needs the link that “fleetqueue dashboard” prints: it carries a token. Open that link again.",
  hubAt: "hub {0}", namespaceOnly: "jobs of namespace {0}",
  clusters: "clusters", available: "available", waiting: "waiting", starting: "starting", running: "running", done: "done", failed: "failed",
  all: "all", jobsShown: "{0} waiting, {1} running, {2} done, {3} failed",
  fleet: "Fleet", fleetHint: "Of each resource: how much is not held by jobs of this hub, of how much there is; and the score, from −100 (nothing free) to 100, as the cluster’s own agent measures it.",
  queues: "Queues", timeline: "Timeline", jobs: "Jobs", events: "Events",
  cluster: "Cluster", set: "Set", state: "State", kueue: "Kueue", credential: "Credential until", memory: "Memory",
  yes: "available", no: "not available", unknown: "unknown", connected: "connected", notConnected: "not connected", notUsed: "not used",
  refused: "refused by the worker", noCredential: "none", notAccepted: "not accepted", free: "{0} of {1} free", score: "score {0}",
  silent: "no agent", scoreLine: "score of {0}: {1}", leftOut: "left out",
  clusterQueue: "ClusterQueue", localQueue: "LocalQueue", quota: "Quota held", admitted: "Admitted", waitingNumber: "Waiting",
  active: "active", inactive: "not active", cohort: "cohort {0}", held: "{0} of {1}",
  noCluster: "no cluster yet", fit: "Fit", range: "Range", waits: "waits", runs: "runs",
  timelineLabel: "{0} jobs on {1} clusters since {2}. The table of jobs below says the same.",
  filter: "Show jobs that are", search: "Search jobs", job: "Job", queue: "Queue", where: "Cluster", created: "Created", took: "Waited · ran", why: "Why",
  place: "{0} of {1} in {2}", placeIn: "place in its queue",
  nothing: "nothing", noJobs: "No jobs.", noClusters: "No clusters.", noQueues: "No queues.", noEvents: "No Events.", noMatch: "No job matches.",
  time: "Time", about: "About", reason: "Reason", note: "Note", times: "×{0}",
  cannotSee: "{0} cannot be shown: {1}", outOfDate: "{0} may be out of date: {1}",
  close: "Close", whyHeading: "Why it is where it is", nextHeading: "What to do", clustersHeading: "Clusters", chainHeading: "On its way", kind: "Kind", name: "Name", checksHeading: "Checks", conditionsHeading: "Conditions", factsHeading: "Facts",
  answer: "Answer", check: "Check", message: "Message", condition: "Condition", since: "Since", status: "Status",
  workload: "Workload", priority: "Priority", requests: "Requests", evictions: "Evictions", namespace: "Namespace",
  goneJob: "The job is gone from the hub.", tableOf: "{0}, {1} rows", switchTo: "中文",
};

const ZH = {
  skip: "跳到作业",
  live: "实时", loading: "正在加载", reconnecting: "连接已断开，正在重试", stale: "中心集群没有响应",
  needLink: "打开本页面需要 “fleetqueue dashboard” 打印的链接：其中带有令牌。请重新打开那个链接。",
  hubAt: "中心集群 {0}", namespaceOnly: "命名空间 {0} 的作业",
  clusters: "集群", available: "可用", waiting: "等待中", starting: "启动中", running: "运行中", done: "已完成", failed: "失败",
  all: "全部", jobsShown: "{0} 个等待，{1} 个运行，{2} 个完成，{3} 个失败",
  fleet: "集群队", fleetHint: "每种资源：没有被本中心集群的作业占用的数量和总量；以及评分，从 −100（没有空闲）到 100，由集群自己的代理测量。",
  queues: "队列", timeline: "时间线", jobs: "作业", events: "事件",
  cluster: "集群", set: "集群集", state: "状态", kueue: "Kueue", credential: "凭证有效至", memory: "内存",
  yes: "可用", no: "不可用", unknown: "未知", connected: "已连接", notConnected: "未连接", notUsed: "未使用",
  refused: "被工作集群拒绝", noCredential: "无", notAccepted: "未被接受", free: "空闲 {0} / {1}", score: "评分 {0}",
  silent: "没有代理", scoreLine: "{0} 的评分：{1}", leftOut: "被排除",
  clusterQueue: "ClusterQueue", localQueue: "LocalQueue", quota: "已占用配额", admitted: "已准入", waitingNumber: "等待",
  active: "可用", inactive: "不可用", cohort: "cohort {0}", held: "{0} / {1}",
  noCluster: "还没有集群", fit: "全部", range: "时间范围", waits: "等待", runs: "运行",
  timelineLabel: "自 {2} 起，{1} 个集群上的 {0} 个作业。下面的作业表给出相同的内容。",
  filter: "显示的作业", search: "搜索作业", job: "作业", queue: "队列", where: "集群", created: "创建时间", took: "等待 · 运行", why: "原因",
  place: "{2} 中第 {0} / {1} 位", placeIn: "在队列中的位置",
  nothing: "无", noJobs: "没有作业。", noClusters: "没有集群。", noQueues: "没有队列。", noEvents: "没有事件。", noMatch: "没有匹配的作业。",
  time: "时间", about: "对象", reason: "原因", note: "说明", times: "×{0}",
  cannotSee: "无法显示 {0}：{1}", outOfDate: "{0} 可能已过时：{1}",
  close: "关闭", whyHeading: "为什么处于此状态", nextHeading: "怎么做", clustersHeading: "集群", chainHeading: "途经的对象", kind: "类型", name: "名称", checksHeading: "检查", conditionsHeading: "状况", factsHeading: "信息",
  answer: "答复", check: "检查", message: "消息", condition: "状况", since: "自", status: "状态",
  workload: "Workload", priority: "优先级", requests: "请求", evictions: "驱逐次数", namespace: "命名空间",
  goneJob: "中心集群上已经没有这个作业。", tableOf: "{0}，{1} 行", switchTo: "English",
};

const TEXTS = { en: EN, zh: ZH };
let chosen = localStorage.getItem("language") ?? document.documentElement.lang;

export const language = () => (chosen in TEXTS ? chosen : "en");

export function t(name, ...values) {
  return TEXTS[language()][name].replace(/\{(\d)\}/g, (_, number) => String(values[number] ?? ""));
}

export function setLanguage(name) {
  chosen = name;
  localStorage.setItem("language", name);
}

// Write the texts of what stands in index.html.
export function writeTexts() {
  document.documentElement.lang = language() === "zh" ? "zh-CN" : "en";
  for (const node of document.querySelectorAll("[data-text]")) node.textContent = t(node.dataset.text);
}
