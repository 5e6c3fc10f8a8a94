#!/usr/bin/env python3
"""Runs every case of *.yaml against a real kube-apiserver and keeps its answers as *.json beside them.

usage: capture.py https://127.0.0.1:PORT TOKEN   (a server with --runtime-config=api/all=true)

A case is a list of steps on one server. `create` posts an object, `raw` a text; `update` reads the object of the last
successful step, applies the given JSON merge patch to it and puts the result back; any other word does the same with
the subresource of that name.
What differs from run to run (uid, versions, times, allocated addresses) is taken out of the answers.
"""
import copy, glob, json, os, re, ssl, sys, time, urllib.request, urllib.error
import yaml

HERE = os.path.dirname(os.path.abspath(__file__))
BASE, TOKEN = sys.argv[1], sys.argv[2]
CTX = ssl._create_unverified_context()


class Loader(yaml.SafeLoader):
    """Times stay text."""


Loader.yaml_implicit_resolvers = {
    k: [(t, r) for t, r in v if t != "tag:yaml.org,2002:timestamp"] for k, v in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def kinds():
    table = {}
    for line in open(os.path.join(HERE, "../../src/api/kinds.txt")):
        if line.startswith(("#", " ")):
            continue
        w = line.split()
        group = "" if w[0] == "-" else w[0]
        prefix = f"/api/{w[1]}" if not group else f"/apis/{group}/{w[1]}"
        table[(f"{group}/{w[1]}" if group else w[1], w[4])] = (prefix, w[2], w[5] == "namespaced")
    return table


KINDS = kinds()


def collection(obj, query=""):
    prefix, plural, namespaced = KINDS[(obj["apiVersion"], obj["kind"])]
    return prefix + ("/namespaces/default" if namespaced else "") + "/" + plural


def call(method, path, body=None, content="application/json"):
    data = None if body is None else (body if isinstance(body, str) else json.dumps(body)).encode()
    request = urllib.request.Request(BASE + path, data=data, method=method)
    request.add_header("Authorization", "Bearer " + TOKEN)
    request.add_header("Content-Type", content)
    try:
        with urllib.request.urlopen(request, context=CTX) as r:
            return r.status, json.load(r), r.headers.get_all("Warning") or []
    except urllib.error.HTTPError as e:
        text = e.read()
        try:
            return e.code, json.loads(text), e.headers.get_all("Warning") or []
        except ValueError:
            return e.code, {"text": text.decode()}, []


def merge(target, patch):
    if not isinstance(patch, dict):
        return patch
    target = dict(target) if isinstance(target, dict) else {}
    for k, v in patch.items():
        if v is None:
            target.pop(k, None)
        else:
            target[k] = merge(target.get(k), v)
    return target


def steady(obj):
    """The object without what differs between runs."""
    obj = copy.deepcopy(obj)
    meta = obj.get("metadata", {})
    uid = meta.get("uid")
    if obj.get("kind") != "Status":
        for k in ("managedFields", "creationTimestamp", "resourceVersion"):
            meta.pop(k, None)
    text = json.dumps(obj)
    if uid:
        text = text.replace(json.dumps(uid), '"UID"')
    text = re.sub(r'[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}', "UID", text)
    # Times of the run itself; those of the corpus are all in January 2026 or before.
    text = re.sub('"' + time.strftime("%Y-%m-%d", time.gmtime()) + r'T\d\d:\d\d:\d\dZ"', '"2026-01-01T00:00:00Z"', text)
    obj = json.loads(text)
    spec = obj.get("spec")
    if obj.get("kind") == "Service" and isinstance(spec, dict):
        if spec.get("clusterIP") != "None":
            for k in ("clusterIP", "clusterIPs"):
                spec.pop(k, None)
        spec.pop("healthCheckNodePort", None)
        for p in spec.get("ports") or []:
            p.pop("nodePort", None)
    if obj.get("kind") == "CertificateSigningRequest" and isinstance(spec, dict):
        for k in ("username", "groups", "uid", "extra"):
            spec.pop(k, None)
    return obj


def remove(obj):
    path = collection(obj) + "/" + obj["metadata"]["name"]
    if obj["kind"] in ("Binding",):
        return
    if (obj["metadata"].get("finalizers")):
        call("PATCH", path, {"metadata": {"finalizers": None}}, "application/merge-patch+json")
    if obj["kind"] == "Namespace":
        call("DELETE", path)
        code, now, _ = call("GET", path)
        if code == 200:
            now["spec"]["finalizers"] = []
            call("PUT", path + "/finalize", now)
        return
    code, _, _ = call("DELETE", path + "?gracePeriodSeconds=0&propagationPolicy=Background")
    call("PATCH", path, {"metadata": {"finalizers": None}}, "application/merge-patch+json")
    for _ in range(50):
        if call("GET", path)[0] == 404:
            return
        time.sleep(0.1)
    print("still there:", path)


def run(case):
    query = "?fieldManager=corpus"
    if "fieldValidation" in case:
        query += "&fieldValidation=" + case["fieldValidation"]
    steps, made, current = [], [], None
    for step in case["steps"]:
        (verb, given), = step.items()
        out = {verb: given}
        if verb == "raw":
            code, body, warnings = call("POST", collection(json.loads(given)) + query, given)
        elif verb == "create":
            code, body, warnings = call("POST", collection(given) + query, given)
            if code < 300 and "name" in body.get("metadata", {}):
                made.append(body)
        elif current is None:
            print('nothing to', verb, 'in', case['case'])
            continue
        else:
            path = collection(current) + "/" + current["metadata"]["name"]
            for _ in range(5):
                _, before, _ = call("GET", path)
                code, body, warnings = call("PUT", path + ("" if verb == "update" else "/" + verb) + query, merge(before, given))
                if code != 409:
                    break
            if steady(before) != steady(current):
                out["before"] = steady(before)
        fields = [w[7:-1].replace('\\"', '"') for w in warnings if "unknown field" in w or "duplicate field" in w]
        if fields:
            out["warnings"] = fields
        out["code"] = code
        out["answer"] = steady(body)
        steps.append(out)
        if code < 300:
            current = body
    for obj in reversed(made):
        remove(obj)
    return {"case": case["case"], **({"fieldValidation": case["fieldValidation"]} if "fieldValidation" in case else {}), "steps": steps}


for path in sorted(glob.glob(os.path.join(HERE, "*.yaml"))):
    cases = [run(c) for c in yaml.load_all(open(path), Loader)]
    with open(path[:-5] + ".json", "w") as f:
        json.dump(cases, f, indent=1)
        f.write("\n")
